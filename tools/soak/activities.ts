/**
 * The mixed traffic of a soak, as activities that leave nothing behind: each makes what it needs, uses it, compares the
 * data, and frees it. Owns what is done; `days.ts` decides when.
 */
import { ConnectionRejected, IpAddress, QpState, QpType, RoceError, WrOpcode } from 'rocev2';
import { RDMA_UDP_QKEY } from 'rocev2/packets/management';
import { Access, WcStatus } from 'rocev2/transport';
import { demand, type Fabric, join, part, Side, SoakFault, type Station, sameBytes } from './station.ts';

/** Where an activity takes place: from one host to another, with a port of its own and data of its own. */
export interface Turn extends Fabric {
  readonly from: Station;
  readonly to: Station;
  readonly port: number;
  /** Fills memory. */
  readonly fill: number;
  /** Called for each key that a registration gave. */
  readonly keyed: (device: Station, key: number) => void;
  /** Called for each queue pair that was made. */
  readonly numbered: (device: Station, qpn: number) => void;
}

/** Resolves with the messages that went through. */
export type Activity = (turn: Turn) => Promise<number>;

const BYTES = 4000;

/** A connection with every operation, windows and fast registration included; odd turns receive from a shared queue. */
const reliable: Activity = async (turn) => {
  const { left, right } = sidesOf(turn);
  const srq = turn.fill % 2 === 1 ? right.pd.createSrq({ maxWr: 4 }) : undefined;
  const qps = { active: left.queuePair(), passive: right.queuePair(srq === undefined ? {} : { srq }) };
  note(turn, qps);
  const joined = await join(left.device, turn.to, turn.port, qps);
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  const sges = [{ mr: left.mr, length: BYTES }];
  (srq ?? qps.passive).postRecv({ wrId: 1, sges: [{ mr: right.mr, length: BYTES }] });
  await left.done(qps.active, { wrId: 2, opcode: WrOpcode.Send, sges });
  await right.completion();
  demand(sameBytes(left.mr.bytes, right.mr.bytes, BYTES), 'a SEND arrived with other bytes');
  left.mr.bytes.fill(turn.fill ^ 0xff);
  await left.done(qps.active, { wrId: 3, opcode: WrOpcode.RdmaWrite, sges, ...remote });
  demand(sameBytes(left.mr.bytes, right.mr.bytes, BYTES), 'a WRITE arrived with other bytes');
  left.mr.bytes.fill(0);
  await left.done(qps.active, { wrId: 4, opcode: WrOpcode.RdmaRead, sges, ...remote });
  demand(sameBytes(left.mr.bytes, right.mr.bytes, BYTES), 'a READ returned other bytes');
  const word = [{ mr: left.mr, length: 8 }];
  await left.done(qps.active, { wrId: 5, opcode: WrOpcode.AtomicFetchAndAdd, sges: word, compareAdd: 1n, ...remote });
  await lend(turn, left, right, qps);
  await part(joined);
  for (const qp of [qps.active, qps.passive]) qp.destroy();
  srq?.destroy();
  left.free();
  right.free();
  return 8;
};

type Ends = { readonly active: ReturnType<Side['queuePair']>; readonly passive: ReturnType<Side['queuePair']> };

/** A memory window and a fast registration of the responder, used by the requester and taken back. */
async function lend({ fill }: Turn, left: Side, right: Side, { active, passive }: Ends): Promise<void> {
  const mw = right.pd.allocMw();
  const bind = { mr: right.mr, addr: right.mr.iova, length: 64, access: Access.RemoteWrite };
  await right.done(passive, { wrId: 6, opcode: WrOpcode.BindMw, mw, rkey: nextVariant(mw.rkey), bind });
  const inline = Uint8Array.of(fill);
  await left.done(active, { wrId: 7, opcode: WrOpcode.RdmaWrite, inline, remoteAddr: right.mr.iova, rkey: mw.rkey });
  // Bound still: the queue pair's end unbinds it in every third turn.
  if (fill % 3 !== 0) await right.done(passive, { wrId: 8, opcode: WrOpcode.LocalInv, invalidateRkey: mw.rkey });
  const fast = right.pd.allocMr(64);
  const memory = new Uint8Array(64);
  const reg = { mr: fast, memory, iova: 0n, length: 64, access: ALL_REMOTE, key: nextVariant(fast.rkey) };
  await right.done(passive, { wrId: 9, opcode: WrOpcode.RegMr, reg });
  await left.done(active, { wrId: 10, opcode: WrOpcode.RdmaWrite, inline, remoteAddr: 8n, rkey: fast.rkey });
  demand(memory[8] === fill, 'a WRITE to registered memory arrived elsewhere');
  right.pd.deregMr(fast);
  mw.dealloc();
}

/** Messages that may get lost; the sender's completions do not. */
const unreliable: Activity = async (turn) => {
  const { left, right } = sidesOf(turn);
  const type = QpType.Uc;
  const qps = { active: left.queuePair({ type }), passive: right.queuePair({ type }) };
  note(turn, qps);
  const joined = await join(left.device, turn.to, turn.port, qps);
  const sges = [{ mr: left.mr, length: BYTES }];
  for (let wrId = 0; wrId < 4; wrId++) {
    qps.passive.postRecv({ wrId, sges: [{ mr: right.mr, length: BYTES }] });
    await left.done(qps.active, { wrId, opcode: WrOpcode.Send, sges });
  }
  await part(joined);
  left.free();
  right.free();
  return 4;
};

/** A service is looked up, gets datagrams, and joins a group. */
const datagrams: Activity = async (turn) => {
  const { left, right } = sidesOf(turn);
  const type = QpType.Ud;
  const [mine, served] = [left.queuePair({ type }), right.queuePair({ type })];
  for (const qp of [mine, served]) {
    qp.modifyNow({ state: QpState.Init, qkey: RDMA_UDP_QKEY });
    qp.modifyNow({ state: QpState.Rtr });
    qp.modifyNow({ state: QpState.Rts, sqPsn: 0xff_ff_fe });
  }
  note(turn, { active: mine, passive: served });
  await served.attachMcast(GROUP);
  const listener = right.device.cm.listenUd(turn.port, { qp: served });
  const found = await left.device.cm.resolveUd({ address: turn.to.address, port: turn.port, pd: left.pd });
  listener.close();
  const target = { ah: found.ah, remoteQpn: found.remoteQpn, remoteQkey: found.qkey };
  for (let wrId = 0; wrId < 4; wrId++) {
    served.postRecv({ wrId, sges: [{ mr: right.mr }] });
    await left.done(mine, { wrId, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 1000 }], ...target });
  }
  found.ah.destroy();
  // Even turns leave it to the end of the queue pair.
  if (turn.fill % 2 === 1) served.detachMcast(GROUP);
  left.free();
  right.free();
  return 4;
};

/** A domain with a shared receive queue, and an initiator that names it. */
const xrc: Activity = async (turn) => {
  const { left, right } = sidesOf(turn);
  const xrcd = right.device.openXrcd();
  const srq = right.pd.createSrq({ maxWr: 4, xrcd, cq: right.cq });
  const qps = { active: left.queuePair({ type: QpType.XrcSend }), passive: xrcd.createQp() };
  note(turn, qps);
  const joined = await join(left.device, turn.to, turn.port, qps, { portSpace: 'ib' });
  srq.postRecv({ wrId: 1, sges: [{ mr: right.mr, length: BYTES }] });
  const sges = [{ mr: left.mr, length: BYTES }];
  await left.done(qps.active, { wrId: 1, opcode: WrOpcode.Send, sges, xrcRemoteSrqn: srq.srqn });
  await right.completion();
  demand(sameBytes(left.mr.bytes, right.mr.bytes, BYTES), 'a SEND over XRC arrived with other bytes');
  await part(joined);
  qps.passive.destroy();
  srq.destroy();
  xrcd.close();
  left.free();
  right.free();
  return 1;
};

/** Regions that come and go; a key that was freed names nothing soon again. */
const registrations: Activity = async (turn) => {
  const pd = turn.from.device.allocPd();
  const regions = Array.from({ length: 24 }, () => pd.regMr(64, { access: ALL_REMOTE }));
  for (const region of regions) turn.keyed(turn.from, region.rkey);
  for (const region of regions) pd.deregMr(region);
  pd.dealloc();
  return 0;
};

/** A stream of bytes both ways, of more than a window. */
const stream: Activity = async ({ from, to, port, fill }) => {
  const [ours, theirs] = [from.device.tcp, to.device.tcp];
  if (ours === undefined || theirs === undefined) throw new SoakFault('a host on Ethernet has a TCP');
  const listener = theirs.listen(port);
  const taking = listener.next();
  const socket = await ours.connect(IpAddress.parse(to.address), port);
  const { value: peer, done } = await taking;
  listener.close();
  if (done === true) throw new SoakFault('the TCP listener was closed');
  const data = new Uint8Array(STREAM_BYTES).fill(fill);
  const [arrived] = await Promise.all([peer.read(STREAM_BYTES), socket.write(data)]);
  demand(sameBytes(arrived, data, STREAM_BYTES), 'a stream arrived with other bytes');
  if (fill % 5 === 0) socket.abort();
  await Promise.all([socket.close(), peer.close()]);
  return 1;
};

/** Attempts that end otherwise: refused, given up, nobody there, a peer that dies with the connection open. */
const failures: Activity = async (turn) => {
  const { left, right } = sidesOf(turn);
  const { from, to, port } = turn;
  const attempt = { address: to.address, port };
  const refused = await from.device.cm.connect({ ...attempt, qp: left.queuePair() }).catch((error: unknown) => error);
  demand(refused instanceof ConnectionRejected, `a closed port answers with a REJ, not ${String(refused)}`);
  const nobody = await from.device.resolve(NOBODY).catch((error: unknown) => error);
  demand(nobody instanceof RoceError, 'an address without a host does not resolve');
  const qps = { active: left.queuePair(), passive: right.queuePair() };
  const joined = await join(left.device, to, port, qps);
  qps.passive.destroy();
  qps.active.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1) });
  await left.completion(WcStatus.RetryExcErr);
  await joined.active.disconnect();
  // Last: when the REJ is lost, the peer keeps the request for a minute, and refuses another one of the same number.
  const given = left.queuePair();
  const listener = to.device.cm.listen(port);
  const giving = from.device.cm.connect({ ...attempt, qp: given }).catch((error: unknown) => error);
  await turn.world.sleep(100_000);
  given.destroy();
  demand((await giving) instanceof RoceError, 'a queue pair that is destroyed ends its attempt');
  listener.close();
  left.free();
  right.free();
  return 0;
};

/** All of them, by the name in the figures. */
export const ACTIVITIES: Readonly<Record<string, Activity>> = {
  reliable,
  unreliable,
  datagrams,
  xrc,
  registrations,
  stream,
  failures,
};

function sidesOf({ from, to, fill, keyed }: Turn): { left: Side; right: Side } {
  const [left, right] = [new Side(from.device), new Side(to.device)];
  left.mr.bytes.fill(fill);
  keyed(from, left.mr.rkey);
  keyed(to, right.mr.rkey);
  return { left, right };
}

function note({ from, to, numbered }: Turn, { active, passive }: Ends): void {
  numbered(from, active.qpn);
  numbered(to, passive.qpn);
}

/** The key with the next 8-bit variant. */
function nextVariant(key: number): number {
  return ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;
}

const ALL_REMOTE = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead;
const GROUP = IpAddress.parse('239.1.2.3');
/** On the link, without a host. */
const NOBODY = IpAddress.parse('10.0.0.99');
const STREAM_BYTES = 40_000;
