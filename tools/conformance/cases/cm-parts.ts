/**
 * What cases about connection management share: a listener on the device, connections that a script makes message by
 * message, connections that the device begins, and what the host control are told of both.
 */
import type { CmRep, CmReq } from 'rocev2/packets/management';
import type { HostCalls } from '../host-control/host-control.ts';
import { type CmConversation, endLater, openConversation, peerOf, sendRtu } from '../tester/cm-connect.ts';
import type { CmArrival, CmPort, CmSendOptions } from '../tester/cm-port.ts';
import { OUR_GUID, requestOf, tcpService } from '../tester/cm-request.ts';
import { demand, NotApplicable } from '../tester/outcome.ts';
import { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

type Listen = Pick<HostCalls['cm.listen']['takes'], 'reject' | 'mute' | 'udp' | 'receives' | 'regionBytes'>;
export type CmEventOf = HostCalls['cm.events']['gives']['events'][number];

/** A listener on the device; gives the port. Without host control that is the target, and it accepts every client. */
export async function listen(t: Tester, how: Listen = {}): Promise<number> {
  const { hostControl } = t.dut;
  if (hostControl === undefined) {
    if (how.reject !== undefined || how.mute === true || how.udp === true)
      throw new NotApplicable('a target accepts every client: another listener takes an agent');
    return t.dut.targetPort;
  }
  if (!hostControl.description.features.includes('cm')) throw new NotApplicable('the device has no cm');
  const port = FIRST_PORT + t.random.below(PORTS);
  await hostControl.call('cm.listen', { listener: t.handle(), port, receives: 16, receiveBytes: 1024, ...how });
  return port;
}

export interface Accepted {
  readonly one: CmConversation;
  readonly peer: TesterPeer;
}

/** REQ and REP; the RTU is left out. */
export async function accepted(
  t: Tester,
  cm: CmPort,
  port: number,
  more: Partial<CmReq> = {},
  options: CmSendOptions = {},
): Promise<Accepted> {
  const req = requestOf(t, cm.route(options.version), cm.id(), port, more);
  const one = await openConversation(cm, req, options);
  if (t.dut.hostControl === undefined) endLater(t, one);
  return { one, peer: t.adopt(peerOf(t, cm, one)) };
}

/** REQ, REP, RTU. */
export async function established(
  t: Tester,
  cm: CmPort,
  port: number,
  more: Partial<CmReq> = {},
  options: CmSendOptions = {},
): Promise<Accepted> {
  const made = await accepted(t, cm, port, more, options);
  sendRtu(cm, made.one);
  return made;
}

/** The device begins to connect to us; gives what the host control call it, and its REQ. */
export async function dialed(
  t: Tester,
  cm: CmPort,
  more: Partial<Omit<HostCalls['cm.connect']['takes'], 'connection' | 'address' | 'port'>> = {},
  version?: 4 | 6,
): Promise<{ readonly connection: number; readonly port: number; readonly req: CmArrival<'REQ'> }> {
  const port = FIRST_PORT + t.random.below(PORTS);
  const connection = t.handle();
  await t.hostControl.call('cm.connect', { connection, address: t.address(version).ours.toString(), port, ...more });
  return { connection, port, req: await cm.request(tcpService(port)) };
}

/** A REP of ours for a REQ of the device. */
export function repFor(t: Tester, cm: CmPort, { body }: CmArrival<'REQ'>, more: Partial<CmRep> = {}): CmRep {
  return {
    localCommId: cm.id(),
    remoteCommId: body.localCommId,
    localQkey: 0,
    localQpn: t.qpn(),
    localEecn: 0,
    startingPsn: t.random.below(0x1_00_00_00),
    vendorId: 0,
    responderResources: Math.min(4, body.initiatorDepth),
    initiatorDepth: Math.min(4, body.responderResources),
    targetAckDelay: 15,
    failoverAccepted: 0,
    endToEndFlowControl: 0,
    rnrRetryCount: 7,
    srq: 0,
    localCaGuid: OUR_GUID,
    privateData: new Uint8Array(0),
    ...more,
  };
}

/** Our end of a connection that the device began. It has no region that we know of. */
export function peerOfDialed(t: Tester, cm: CmPort, { body, sighting }: CmArrival<'REQ'>, rep: CmRep): TesterPeer {
  return t.adopt(
    new TesterPeer(t, {
      ...{ type: 'rc', qpn: rep.localQpn, dutQpn: body.localQpn, firstPsn: body.startingPsn },
      ...{ dutFirstPsn: rep.startingPsn, mtu: 128 << body.pathMtu, buffers: undefined, qp: undefined, pd: undefined },
      ...{ sendCq: undefined, recvCq: undefined },
      region: { mr: undefined, va: 0n, rkey: 0, lkey: 0, length: 0 },
      route: { ...cm.route(sighting.ip.version), sourcePort: 0xc0_00 + (rep.localQpn & 0x3f_ff) },
    }),
  );
}

/** An event of the connection manager that fits, waited for. @throws Violation when none comes */
export async function cmEvent(
  t: Tester,
  name: string,
  fits: (event: CmEventOf) => boolean = () => true,
): Promise<CmEventOf> {
  const deadline = t.now() + t.dut.patienceNs;
  const seen: string[] = [];
  for (;;) {
    const { events } = await t.hostControl.call('cm.events', {});
    const found = events.find((event) => event.event === name && fits(event));
    if (found !== undefined) return found;
    seen.push(...events.map(({ event }) => event));
    demand(
      t.now() < deadline,
      `the event ${name} was expected on the device, and ${seen.length === 0 ? 'none' : seen.join(', ')} came`,
    );
    await t.sleep(t.dut.pollNs);
  }
}

/** A message of the device has to belong to this transaction. */
export function sameTransaction(arrival: CmArrival, transactionId: bigint): void {
  demand(arrival.transactionId === transactionId, () => `the ${arrival.kind} belongs to another transaction`);
}

/** 5-bit codes of time: 4.096 us * 2^code. */
export const codeNs = (code: number): number => 4096 * 2 ** code;

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const FIRST_PORT = 20_000;
const PORTS = 20_000;
