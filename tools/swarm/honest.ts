/** The two honest hosts of a run, and how their programs bring up queue pairs. Owns what honest programs do. */
import {
  Access,
  attachDevice,
  type Connection,
  formatMac,
  IpAddress,
  type Listener,
  QpState,
  QpType,
  RoceError,
  type World,
} from 'rocev2';
import { ATTACKER, ATTACKER_MAC, addressOf, macOf } from './addresses.ts';
import type { End, Flow, Party } from './flow.ts';
import { SWARM_PORT } from './mads.ts';
import type { Scenario } from './scenario.ts';

/** A host of that number; the attacker's own address is known to it, so that answers reach the attacker. */
export function openParty(world: World, name: string, n: number, scenario: Scenario): Party {
  const { ipVersion, faults, dcqcn, tight } = scenario;
  const device = attachDevice(world, name, {
    addresses: [`${addressOf(n, ipVersion)}/${ipVersion === 4 ? 24 : 64}`],
    mac: formatMac(macOf(n)),
    mtu: 4200,
    faults: { ...faults, duplicateDelayNs: 3000, ...(dcqcn ? { ceMark: 0.05 } : {}) },
    neighbours: [
      { address: addressOf(ATTACKER, ipVersion), mac: ATTACKER_MAC },
      // There is no FCS here: a damaged answer would be believed.
      ...(faults.corrupt > 0 ? [{ address: addressOf(3 - n, ipVersion), mac: macOf(3 - n) }] : []),
    ],
    ...(tight ? { strangers: TIGHT } : {}),
    ...(dcqcn ? { congestion: { reaction: { kind: 'dcqcn', profile: 'paper' } } } : {}),
  });
  return { device, pd: device.allocPd(), otherPd: device.allocPd() };
}

/** Resolves the peer, however many solicitations the wire loses. */
export async function meet(party: Party, peer: Party): Promise<void> {
  for (let attempt = 0; attempt < 4; attempt++) {
    try {
      await party.device.resolve(ipOf(peer));
      return;
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

/** Brings both ends of a flow to RTS; those of service 'cm' stay as they are, for `connect`. */
export async function bringUp(flow: Flow, scenario: Scenario): Promise<void> {
  const { initiator, target, type, qkey } = flow;
  if (type !== QpType.Ud) {
    if (flow.service !== 'cm') {
      await toReadyToSend(initiator, target, type, scenario);
      await toReadyToSend(target, initiator, type, scenario);
    }
    return;
  }
  for (const { qp } of [initiator, target]) {
    qp.modifyNow({ state: QpState.Init, qkey });
    qp.modifyNow({ state: QpState.Rtr });
    qp.modifyNow({ state: QpState.Rts, sqPsn: scenario.firstPsn });
  }
  const group = IpAddress.parse(scenario.ipVersion === 4 ? '239.1.2.3' : 'ff3e::1:2');
  if (flow.service === 'multicast') await target.qp.attachMcast(group);
  const destination = flow.service === 'multicast' ? group : ipOf(target.party);
  flow.ah = await initiator.party.pd.createAh({ destination });
}

/** The target of the flow takes its own peer's request and refuses all others. */
export function listen(world: World, flow: Flow): Listener {
  const listener = flow.target.party.device.cm.listen(SWARM_PORT);
  void serve(world, listener, flow);
  return listener;
}

/** Through the connection manager, to the listener of `listen`. */
export function connect({ initiator, target }: Flow): Promise<Connection> {
  return initiator.party.device.cm.connect({
    ...{ address: ipOf(target.party), port: SWARM_PORT, qp: initiator.qp },
    ...{ privateData: PASSWORD, ackTimeout: ACK_TIMEOUT, minRnrTimer: 1, cmResponseTimeout: 12 },
  });
}

async function serve(world: World, listener: Listener, flow: Flow): Promise<void> {
  for await (const request of listener) {
    await world.sleep(THINKING_NS);
    const known = PASSWORD.every((byte, i) => request.privateData[i] === byte);
    try {
      if (!known || flow.target.qp.state !== QpState.Reset) request.reject();
      else await request.accept({ qp: flow.target.qp, minRnrTimer: 1, ackTimeout: ACK_TIMEOUT });
    } catch (error) {
      // The caller may have withdrawn it meanwhile; an honest one sees that its call fails.
      if (!(error instanceof RoceError)) throw error;
    }
  }
}

async function toReadyToSend(end: End, peer: End, type: QpType, { mtu, firstPsn }: Scenario): Promise<void> {
  const { qp } = end;
  const access = Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
  const rc = type === QpType.Rc;
  await qp.modify({ state: QpState.Init, access });
  const rtr = { destQpn: peer.qp.qpn, rqPsn: firstPsn, mtu, ...(rc ? { maxDestRdAtomic: 4, minRnrTimer: 1 } : {}) };
  await qp.modify({ state: QpState.Rtr, av: { destination: ipOf(peer.party) }, ...rtr });
  const retries = { timeout: ACK_TIMEOUT, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 };
  await qp.modify({ state: QpState.Rts, sqPsn: firstPsn, ...(rc ? retries : {}) });
}

export function ipOf({
  device: {
    addresses: [prefix],
  },
}: Party): IpAddress {
  if (prefix === undefined) throw new Error('an honest host has an address');
  return prefix.address;
}

/** What a listener takes to look at a request. */
const THINKING_NS = 20_000;
/** What hosts of scarce memory keep for strangers. */
export const TIGHT = { maxNeighbours: 8, maxUnresolved: 4, maxHalfOpen: 4, maxRequests: 8, maxRequestsPerSource: 4 };
/** What an honest caller has in its request. */
const PASSWORD = Uint8Array.of(0x5a, 0xa5, 0x5a, 0xa5, 1, 2, 3, 4);
/** 4.096 us * 2^8: 1 ms. */
const ACK_TIMEOUT = 8;
