/**
 * One connection between two devices by the host control of both: memory, queue pairs, work. Owns the calls, their
 * order, and what is in the memory before and has to be there after.
 */

import { cut, pattern } from 'rocev2/packets/kit';
import type { AccessFlag, HostControl, HostHandle, SendRequest } from '../host-control/host-control.ts';
import type { TrafficConnection } from './connection.ts';
import type { LossScenario } from './scenario.ts';
import type { TestbedEnd } from './stage.ts';

/** A connection that is up. */
export interface OpenPair {
  readonly connection: Omit<TrafficConnection, 'requester'>;
  readonly requester: Side;
  readonly responder: Side;
  /** Where the work of the requester completes. */
  readonly sendCq: HostHandle;
}

interface Side {
  readonly qp: HostHandle;
  readonly mr: HostHandle;
  readonly qpn: number;
  readonly va: bigint;
  readonly rkey: number;
}

/** Connects the ends, over the addresses in turn. @throws HostControlError as the host control do */
export async function openPair(
  requester: TestbedEnd,
  responder: TestbedEnd,
  scenario: LossScenario,
  { index, timeout }: { readonly index: number; readonly timeout: number },
): Promise<OpenPair> {
  const bytes = scenario.packets * TRAFFIC_MTU;
  const [asking, answering] = await Promise.all([
    makeSide(requester.hostControl, index, bytes),
    makeSide(responder.hostControl, index, bytes),
  ]);
  const address = index % Math.min(requester.addresses.length, responder.addresses.length);
  const moves = { trafficClass: scenario.cnp === undefined ? 0 : ECT_0, address, timeout };
  await Promise.all([
    connect(requester, responder, { ...moves, mine: asking, theirs: answering, psn: FIRST_PSN, theirPsn: THEIR_PSN }),
    connect(responder, requester, { ...moves, mine: answering, theirs: asking, psn: THEIR_PSN, theirPsn: FIRST_PSN }),
  ]);
  const data = pattern(bytes, index + 1);
  const [from, owner] = scenario.opcode === 'read' ? [answering, responder] : [asking, requester];
  await fill(owner.hostControl, from.mr, data);
  if (scenario.opcode === 'send') {
    const pieces = [{ mr: answering.mr, offset: 0, length: bytes }];
    for (let i = 0; i < scenario.messages; i++)
      await responder.hostControl.call('qp.recv', { qp: answering.qp, wrId: i + 1, pieces });
  }
  const psns = scenario.messages * scenario.packets;
  return {
    connection: { requesterQpn: asking.qpn, responderQpn: answering.qpn, firstPsn: FIRST_PSN, mtu: TRAFFIC_MTU, psns },
    requester: asking,
    responder: answering,
    sendCq: asking.qp,
  };
}

/** Posts all messages of a scenario on one connection. */
export async function postWork(
  { hostControl }: TestbedEnd,
  { requester, responder }: OpenPair,
  scenario: LossScenario,
): Promise<void> {
  const { messages, packets, opcode } = scenario;
  const pieces = [{ mr: requester.mr, offset: 0, length: packets * TRAFFIC_MTU }];
  const remote = opcode === 'send' ? {} : { remoteAddr: responder.va, rkey: responder.rkey };
  const requests = Array.from(
    { length: messages },
    (_, i): SendRequest => ({ wrId: i + 1, opcode, pieces, ...remote }),
  );
  await Promise.all(requests.map((request) => hostControl.call('qp.send', { qp: requester.qp, ...request })));
}

/** Whether both ends have the same bytes: what was sent, whichever way it went. */
export async function sameData(
  requester: TestbedEnd,
  responder: TestbedEnd,
  pair: OpenPair,
  { packets }: LossScenario,
): Promise<boolean> {
  const bytes = packets * TRAFFIC_MTU;
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, bytes - offset);
    const [here, there] = await Promise.all([
      requester.hostControl.call('mem.read', { mr: pair.requester.mr, offset, length }),
      responder.hostControl.call('mem.read', { mr: pair.responder.mr, offset, length }),
    ]);
    if (here.hex !== there.hex) return false;
  }
  return true;
}

/**
 * Every object of a connection has the same handle, that of the connection; what it sends completes in a queue of its
 * own.
 */
async function makeSide(hostControl: HostControl, index: number, bytes: number): Promise<Side> {
  const handle = index + 1;
  const [, , { va, rkey }, { qpn }] = await Promise.all([
    hostControl.call('pd.alloc', { pd: handle }),
    hostControl.call('cq.create', { cq: handle, entries: 256 }),
    hostControl.call('mr.reg', { mr: handle, pd: handle, length: bytes, access: ACCESS }),
    hostControl.call('qp.create', {
      ...{ qp: handle, pd: handle, type: 'rc', sendCq: handle, recvCq: handle },
      ...{ maxSendWr: 64, maxRecvWr: 64, maxSge: 1 },
    }),
  ]);
  return { qp: handle, mr: handle, qpn, va, rkey };
}

interface Moves {
  readonly mine: Side;
  readonly theirs: Side;
  readonly psn: number;
  readonly theirPsn: number;
  readonly address: number;
  readonly trafficClass: number;
  readonly timeout: number;
}

async function connect(here: TestbedEnd, there: TestbedEnd, moves: Moves): Promise<void> {
  const { mine, theirs, psn, theirPsn, address, trafficClass, timeout } = moves;
  const { qp } = mine;
  const path = {
    destination: there.addresses[address]?.address ?? '',
    sgidIndex: here.addresses[address]?.gidIndex ?? 0,
    trafficClass,
  };
  await Promise.all([
    here.hostControl.call('qp.modify', { qp, state: 'INIT', port: 1, pkeyIndex: 0, access: ACCESS }),
    here.hostControl.call('qp.modify', {
      ...{ qp, state: 'RTR', path, destQpn: theirs.qpn, rqPsn: theirPsn, mtu: TRAFFIC_MTU },
      ...{ maxDestRdAtomic: 4, minRnrTimer: 12 },
    }),
    here.hostControl.call('qp.modify', {
      ...{ qp, state: 'RTS', sqPsn: psn, timeout, retryCnt: 6, rnrRetry: 6, maxRdAtomic: 4 },
    }),
  ]);
}

async function fill(hostControl: HostControl, mr: HostHandle, data: Uint8Array): Promise<void> {
  const pieces = cut(data, PIECE_BYTES);
  const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  await Promise.all(
    pieces.map((piece, i) => hostControl.call('mem.write', { mr, offset: i * PIECE_BYTES, hex: hex(piece) })),
  );
}

export const TRAFFIC_MTU = 256;
const ACCESS: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read'];
/** The wrap of the number space lies inside a message. */
const FIRST_PSN = 0xff_ff_d0;
const THEIR_PSN = 0x12_34_56;
const PIECE_BYTES = 4096;
/** ECN-capable transport. */
const ECT_0 = 2;
