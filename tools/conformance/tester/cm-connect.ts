/**
 * Connections without an agent on the device's host: REQ to a target that listens there, REP, RTU. What the target must
 * be is in docs/conformance.md: it accepts every client, and the private data of its REP begins with the address (8
 * bytes), key (4) and length (4) of a region that the peer may do everything with. At the port behind it there may be
 * one that posts no receives.
 */

import { defined } from 'rocev2/packets';
import type { CmReq } from 'rocev2/packets/management';
import { type CmArrival, CmPort, type CmPortHost, type CmSendOptions, describeArrival, isKind } from './cm-port.ts';
import { requestOf } from './cm-request.ts';
import { ALL_ACCESS, type TesterConnectOptions } from './connect.ts';
import { Inconclusive, NotApplicable } from './outcome.ts';
import { type PeerHost, type Region, TesterPeer } from './peer.ts';

/** A case whose connections end with it. */
export interface CmCase extends CmPortHost {
  /** Something to be done when the case has ended, however it did. */
  atEnd(ending: () => Promise<void>): void;
}

/** A connection as both sides know it. */
export interface CmConversation {
  readonly req: CmReq;
  readonly rep: CmArrival<'REP'>;
  readonly transactionId: bigint;
  /** Communication ids. */
  readonly ours: number;
  readonly theirs: number;
  readonly version: 4 | 6;
}

/** Sends the REQ and takes the REP. The device's queue pair is then in RTR. @throws Violation when none comes */
export async function openConversation(cm: CmPort, req: CmReq, options: CmSendOptions = {}): Promise<CmConversation> {
  const transactionId = cm.send({ kind: 'REQ', body: req }, options);
  const rep = await cm.rx('REP', req.localCommId);
  const version = options.version ?? cm.route().source.version;
  return { req, rep, transactionId, ours: req.localCommId, theirs: rep.body.localCommId, version };
}

/** The two ids, as a message of ours has them. */
export const idsOf = ({ ours, theirs }: CmConversation): { localCommId: number; remoteCommId: number } => ({
  localCommId: ours,
  remoteCommId: theirs,
});

export function sendRtu(cm: CmPort, one: CmConversation, privateData: Uint8Array = NOTHING): void {
  const { transactionId, version } = one;
  cm.send({ kind: 'RTU', body: { ...idsOf(one), privateData } }, { transactionId, version });
}

export function sendDreq(
  cm: CmPort,
  one: CmConversation,
  options: CmSendOptions = {},
  privateData: Uint8Array = NOTHING,
): bigint {
  const { rep, version } = one;
  const body = { ...idsOf(one), remoteQpn: rep.body.localQpn, privateData };
  return cm.send({ kind: 'DREQ', body }, { version, ...options });
}

/** Our end of it. The PSN of a REP is where we begin, that of a REQ where the device does. */
export function peerOf(t: PeerHost, cm: CmPort, one: CmConversation): TesterPeer {
  const { req, rep, version } = one;
  const { localQpn, startingPsn, privateData } = rep.body;
  return new TesterPeer(t, {
    ...{ type: 'rc', qpn: req.localQpn, dutQpn: localQpn, firstPsn: startingPsn, dutFirstPsn: req.startingPsn },
    ...{ mtu: 128 << req.pathMtu, region: regionOf(privateData), buffers: undefined, qp: undefined, pd: undefined },
    ...{ sendCq: undefined, recvCq: undefined },
    route: { ...cm.route(version), sourcePort: 0xc0_00 + (req.localQpn & 0x3f_ff) },
  });
}

/**
 * A connection with the target; it is ended with the case. @throws NotApplicable for what no target can be asked for,
 * Inconclusive when none is there
 */
export async function connectByCm(t: PeerHost & CmCase, options: TesterConnectOptions): Promise<TesterPeer> {
  refuseWhatTakesHostControl(options);
  const version = t.address(options.version).address.version;
  const cm = await CmPort.open(t);
  try {
    const more = {
      pathMtu: Math.log2((options.mtu ?? 256) / 128),
      initiatorDepth: options.maxDestRdAtomic ?? 4,
      responderResources: options.maxRdAtomic ?? 4,
      ...defined({ startingPsn: options.dutPsn }),
    };
    const port = t.dut.targetPort + (options.receives === 0 ? 1 : 0);
    const req = requestOf(t, cm.route(version), cm.id(), port, more);
    const one = await reach(cm, req, version, options.receives === 0);
    sendRtu(cm, one);
    endLater(t, one);
    if (options.maxDestRdAtomic !== undefined && one.rep.body.responderResources !== options.maxDestRdAtomic)
      throw new NotApplicable(`the target answers ${one.rep.body.responderResources} READs and atomics at a time`);
    const peer = peerOf(t, cm, one);
    if (peer.region.length < (options.regionBytes ?? 0))
      throw new NotApplicable(`the region of the target has ${peer.region.length} bytes`);
    return peer;
  } finally {
    cm.close();
  }
}

/** A MAD may be lost on a real wire. */
async function reach(cm: CmPort, req: CmReq, version: 4 | 6, optional: boolean): Promise<CmConversation> {
  const transactionId = cm.transaction();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    cm.send({ kind: 'REQ', body: req }, { transactionId, version });
    const arrival = await cm.next(req.localCommId);
    if (arrival === undefined || arrival.kind === 'MRA') continue;
    if (optional && isKind(arrival, 'REJ')) throw new NotApplicable('the device has no target without receives');
    if (!isKind(arrival, 'REP')) throw new Inconclusive(`no connection could be made: ${describeArrival(arrival)}`);
    return { req, rep: arrival, transactionId, ours: req.localCommId, theirs: arrival.body.localCommId, version };
  }
  throw new Inconclusive('no connection could be made: nothing answers a REQ');
}

/** A connection that is to be ended with the case. */
export function endLater(t: CmCase, one: CmConversation): void {
  const others = open.get(t);
  if (others !== undefined) {
    others.push(one);
    return;
  }
  const all = [one];
  open.set(t, all);
  t.atEnd(() => leave(t, all));
}

/** The target forgets us; whether it says so is no matter here, and a device that is gone costs one wait for all. */
async function leave(t: CmPortHost, all: readonly CmConversation[]): Promise<void> {
  const cm = await CmPort.open(t);
  const deadline = t.now() + t.dut.patienceNs;
  for (const one of all) {
    cm.expect(one.ours);
    sendDreq(cm, one);
  }
  for (const { ours } of all) await cm.next(ours, Math.max(0, deadline - t.now()));
  cm.close();
}

const open = new WeakMap<CmCase, CmConversation[]>();

function refuseWhatTakesHostControl(o: TesterConnectOptions): void {
  const refuse = (what: string): never => {
    throw new NotApplicable(`${what} takes an agent: a target has what it has`);
  };
  if (o.type !== undefined && o.type !== 'rc') refuse(`a queue pair of type ${o.type.toUpperCase()}`);
  if (o.state !== undefined && o.state !== 'RTS') refuse(`a queue pair in ${o.state}`);
  if (o.psn !== undefined) refuse('a first PSN of our choice');
  for (const rights of [o.access, o.regionAccess])
    if (rights !== undefined && !sameRights(rights)) refuse('a choice of access rights');
  if (o.receives !== undefined && o.receives !== 0 && o.receives !== TARGET_RECEIVES)
    refuse(`the number of ${o.receives} receives`);
  if (o.receiveBytes !== undefined && o.receiveBytes !== TARGET_RECEIVE_BYTES)
    refuse(`receives of ${o.receiveBytes} bytes`);
  const choices = ['minRnrTimer', 'hopLimit', 'trafficClass', 'msn', 'qkey', 'srq', 'pd', 'region'] as const;
  for (const name of choices) if (o[name] !== undefined) refuse(`a choice of ${name}`);
}

const sameRights = (rights: readonly string[]): boolean =>
  ALL_ACCESS.every((right) => rights.includes(right)) && rights.length === ALL_ACCESS.length;

function regionOf(privateData: Uint8Array): Region {
  const view = new DataView(privateData.buffer, privateData.byteOffset, privateData.length);
  const [va, rkey, length] = [view.getBigUint64(0), view.getUint32(8), view.getUint32(12)];
  if (length === 0 || length > MAX_REGION_BYTES || rkey === 0)
    throw new Inconclusive('the listener is no target: its REP does not describe a region');
  return { mr: undefined, va, rkey, lkey: 0, length };
}

/** What a target posts for each connection (docs/conformance.md). */
const TARGET_RECEIVES = 16;
const TARGET_RECEIVE_BYTES = 1024;
const MAX_REGION_BYTES = 1 << 30;
const ATTEMPTS = 3;
const NOTHING = new Uint8Array(0);
