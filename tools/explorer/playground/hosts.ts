/**
 * The hosts of a session: devices, queue pairs and memory made from a scenario, and the posting of its operations. This
 * is the application; the protocol is the stack's. Neighbours are known, and everything stands in RTS from the
 * beginning, so that the first packet on the wire is the first request; unless the scenario leaves connections to the
 * connection manager.
 */

import { Ah, attachDevice, type Mw, type World } from 'rocev2/browser';
import { defined, IpAddress, parseMac, RoceError } from 'rocev2/packets';
import {
  Access,
  type CongestionOptions,
  FlushLevel,
  FlushType,
  QpState,
  QpType,
  type SendWr,
  WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import { bringToInit, bringToRts, firstPsns } from './bring-up.ts';
import { Connecting } from './connecting.ts';
import type { ConnectedEnd, PlaygroundHost } from './ends.ts';
import { HostMemory } from './memory.ts';
import { HostNotes, type PolledCompletion, type SessionNote } from './notes.ts';
import {
  bytesOf,
  DATAGRAM_HEADER_BYTES,
  hostName,
  isConnecting,
  isCounting,
  type OperationKind,
  type PlaygroundOperation,
  type PlaygroundScenario,
  takesReceive,
} from './scenario.ts';
import type { StepNetwork } from './step-network.ts';

/** All hosts and their connections. */
export class Hosts {
  readonly list: readonly PlaygroundHost[];
  readonly endpoints: readonly ConnectedEnd[];
  /** What was polled, oldest first. */
  readonly completions: PolledCompletion[] = [];
  /** Connections that the connection manager makes. */
  readonly connecting: Connecting;
  readonly #scenario: PlaygroundScenario;
  readonly #handles = new Map<ConnectedEnd, Ah>();
  /** Memory windows, made when they are first asked for. */
  readonly #windows = new Map<ConnectedEnd, Mw>();
  /** Those attached to the group. */
  readonly #joined = new Set<ConnectedEnd>();
  readonly #polled = new WorkCompletion();
  #nextWrId = 1;

  /** Attaches them to the world. Decisions are appended to `notes`. */
  constructor(world: World<StepNetwork>, scenario: PlaygroundScenario, notes: SessionNote[]) {
    this.#scenario = scenario;
    this.list = Array.from({ length: scenario.hosts }, (_, host) => makeHost(world, scenario, host, notes));
    this.endpoints = scenario.connections.flatMap(({ from, to }, connection) => {
      const sides = [from, to].map((host, side) => this.#makeEndpoint(connection, side === 0 ? 0 : 1, host));
      return sides;
    });
    this.connecting = new Connecting(scenario, this);
    if (scenario.cm === undefined) for (const endpoint of this.endpoints) this.#connect(endpoint);
    // Bringing the queue pairs up is not a step.
    notes.length = 0;
  }

  /** The host of that number. */
  host(index: number): PlaygroundHost {
    const host = this.list[index];
    if (host === undefined) throw new RangeError(`there is no host ${index}`);
    return host;
  }

  /** Posts an operation; an immediate refusal is a note. Returns the host that posted. */
  post(operation: PlaygroundOperation): number {
    const own = this.#endpoint(operation.connection ?? 0, operation.side ?? 0);
    const peer = this.peerOf(own);
    const count = operation.count ?? 1;
    const { notes } = this.host(own.host);
    try {
      if (operation.kind === 'join' || operation.kind === 'leave') {
        this.#changeGroup(own, operation.kind);
        notes.posted(`${operation.kind === 'join' ? 'joins' : 'leaves'} the group ${GROUP}`);
        return own.host;
      }
      if (isConnecting(operation)) {
        notes.posted(this.connecting.perform(own, operation));
        return own.host;
      }
      if (takesReceive(operation) && operation.receive !== false) {
        const takers = operation.group === true ? this.#joined : [peer];
        for (const taker of takers) this.#postReceives(taker, operation);
      }
      if (operation.kind === 'recv') this.#postReceives(own, operation);
      else if (isLocal(operation)) this.#postLocal(own, operation);
      else for (let index = 0; index < count; index++) this.#postSend(own, peer, operation, index);
      notes.posted(`posts ${describe(operation)}`);
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      notes.posted(`cannot post ${describe(operation)}: ${error.message}`);
    }
    return own.host;
  }

  /** Takes what has completed. */
  poll(timeNs: number): void {
    for (const [host, { cq }] of this.list.entries()) {
      while (cq.poll(this.#polled)) {
        const { qpn, wrId, status, opcode, byteLen, immData } = this.#polled;
        const what = { qpn, wrId, status, opcode, byteLen, immData, statusName: wcStatusName(status) };
        this.completions.push({ host, timeNs, ...what });
      }
    }
  }

  /** The other side of a connection. */
  peerOf({ connection, side }: ConnectedEnd): ConnectedEnd {
    return this.#endpoint(connection, side === 0 ? 1 : 0);
  }

  #endpoint(connection: number, side: number): ConnectedEnd {
    const endpoint = this.endpoints[2 * connection + side];
    if (endpoint === undefined) throw new RangeError(`there is no connection ${connection}`);
    return endpoint;
  }

  #makeEndpoint(connection: number, side: 0 | 1, host: number): ConnectedEnd {
    const { pd, cq } = this.host(host);
    const capabilities = { maxSendWr: MAX_WR, maxRecvWr: MAX_WR };
    const type = { rc: QpType.Rc, uc: QpType.Uc, ud: QpType.Ud }[this.#scenario.qp.service];
    return { connection, side, host, qp: pd.createQp({ type, sendCq: cq, recvCq: cq, ...capabilities }) };
  }

  #connect(endpoint: ConnectedEnd): void {
    const { qp: spec } = this.#scenario;
    const { qp, side, host } = endpoint;
    const peer = this.peerOf(endpoint);
    const destination = this.host(peer.host).address;
    const { sqPsn, rqPsn } = firstPsns(spec, side);
    if (spec.service !== 'ud') {
      bringToInit(qp);
      bringToRts(qp, spec, { destination, destQpn: peer.qp.qpn, rqPsn }, sqPsn);
      return;
    }
    qp.modifyNow({ state: QpState.Init, qkey: QKEY });
    qp.modifyNow({ state: QpState.Rtr });
    qp.modifyNow({ state: QpState.Rts, sqPsn });
    const { device, pd } = this.host(host);
    const path = device.paths.pathTo(qp.qpn, { destination }, 1);
    this.#handles.set(endpoint, new Ah(device.paths, pd, { destination }, path));
  }

  #changeGroup(end: ConnectedEnd, kind: 'join' | 'leave'): void {
    if (kind === 'leave') {
      end.qp.detachMcast(GROUP);
      this.#joined.delete(end);
      return;
    }
    // On Ethernet the device is in the group when the call returns; the promise is for links that ask a kernel.
    void end.qp.attachMcast(GROUP);
    this.#joined.add(end);
  }

  /** The address vector of a datagram: of the group, or of the peer. */
  #handleFor(own: ConnectedEnd, toGroup: boolean): Ah | undefined {
    if (!toGroup) return this.#handles.get(own);
    const { device, pd } = this.host(own.host);
    const av = { destination: GROUP };
    return new Ah(device.paths, pd, av, device.paths.pathTo(own.qp.qpn, av, 1));
  }

  #postReceives({ host, qp }: ConnectedEnd, operation: PlaygroundOperation): void {
    const { incoming } = this.host(host).memory.regions;
    const { offset = 0, count = 1 } = operation;
    const length = bytesOf(operation) + (this.#scenario.qp.service === 'ud' ? DATAGRAM_HEADER_BYTES : 0);
    for (let index = 0; index < count; index++)
      qp.postRecv({ wrId: this.#nextWrId++, sges: [{ mr: incoming, offset: offset + index * length, length }] });
  }

  /** Opens a part of the own outgoing memory to the peer, or closes what is open. */
  #postLocal(own: ConnectedEnd, operation: PlaygroundOperation): void {
    const { outgoing: mr } = this.host(own.host).memory.regions;
    const mw = this.#windowOf(own);
    const wrId = this.#nextWrId++;
    if (operation.kind === 'invalidate') {
      own.qp.postSend({ wrId, opcode: WrOpcode.LocalInv, invalidateRkey: mw.rkey });
      return;
    }
    const access = Access.RemoteWrite | Access.RemoteRead;
    const bind = { mr, addr: mr.iova + BigInt(operation.offset ?? 0), length: bytesOf(operation), access };
    // Each bind has another key than the one before: who has an old one is outside.
    own.qp.postSend({ wrId, opcode: WrOpcode.BindMw, mw, rkey: nextKey(mw.rkey), bind });
  }

  #windowOf(end: ConnectedEnd): Mw {
    const mw = this.#windows.get(end) ?? this.host(end.host).pd.allocMw();
    this.#windows.set(end, mw);
    return mw;
  }

  #postSend(own: ConnectedEnd, peer: ConnectedEnd, operation: PlaygroundOperation, index: number): void {
    const { kind, value, swap = DEFAULT_SWAP, mistake } = operation;
    const { outgoing, incoming } = this.host(own.host).memory.regions;
    const { exposed, counters, outgoing: closed } = this.host(peer.host).memory.regions;
    const open = isCounting(operation) ? counters : exposed;
    const target = mistake === 'right' || operation.window === true ? closed : open;
    const key = operation.window === true ? this.#windowOf(peer).rkey : target.rkey;
    const length = bytesOf(operation);
    const offset = (operation.offset ?? 0) + index * length;
    const local = BRINGING.includes(kind) ? incoming : outgoing;
    const toGroup = operation.group === true;
    const ah = this.#handleFor(own, toGroup);
    const wr: SendWr = {
      wrId: this.#nextWrId++,
      opcode: OPCODES[kind],
      remoteAddr: target.iova + BigInt(mistake === 'range' ? target.length : offset),
      rkey: mistake === 'rkey' ? nextKey(key) : key,
      ...(kind === 'atomic-write' ? { inline: little64(swap) } : {}),
      ...(kind === 'flush' ? { flush: { type: FlushType.Global, level: FlushLevel.Range }, length } : {}),
      ...(WITHOUT_SGES.includes(kind) ? {} : { sges: [{ mr: local, offset, length }] }),
      ...{ immData: IMMEDIATE, compareAdd: BigInt(value ?? (kind === 'fetch-add' ? 1 : 0)), swap: BigInt(swap) },
      ...(ah === undefined ? {} : { ah, remoteQpn: toGroup ? GROUP_QPN : peer.qp.qpn, remoteQkey: QKEY }),
    };
    own.qp.postSend(wr);
  }
}

/** "3 WRITEs of 4096 bytes". */
export function describe(operation: PlaygroundOperation): string {
  const { kind, count = 1, mistake } = operation;
  const name = WORDS[kind];
  if (kind === 'bind') return `a BIND of a window on ${bytesOf(operation)} bytes`;
  if (kind === 'invalidate') return 'an INVALIDATE of the window';
  if (isConnecting(operation)) return `a ${name}`;
  const to = operation.group === true ? ' to the group' : '';
  const many = count === 1 ? `a ${name}` : `${count} ${name}s`;
  const wrong = mistake === undefined ? '' : `, ${MISTAKE_WORDS[mistake]}`;
  return `${many} of ${bytesOf(operation)} bytes${to}${wrong}`;
}

function makeHost(
  world: World<StepNetwork>,
  scenario: PlaygroundScenario,
  host: number,
  shared: SessionNote[],
): PlaygroundHost {
  const { congestion, link } = scenario;
  const name = hostName(host);
  const notes = new HostNotes(host, name, shared);
  const neighbours = Array.from({ length: scenario.hosts }, (_, other) => other)
    .filter((other) => other !== host)
    .map((other) => ({ address: addressOf(other), mac: parseMac(`02:00:00:00:00:0${other + 1}`) }));
  const reaction: CongestionOptions | undefined = congestion && {
    reaction: { kind: 'dcqcn', profile: congestion.profile, parameters: congestion.parameters },
    notification: { minTimeBetweenCnpsNs: congestion.cnpIntervalNs },
    lineRateBps: link.ratesBps[host] || link.rateBps,
    maxBurstBytes: 0,
  };
  const device = attachDevice(world, name, {
    addresses: [`${addressOf(host)}/24`],
    neighbours,
    maxUnacked: scenario.qp.maxUnacked,
    trace: notes,
    ...defined({ congestion: reaction }),
  });
  const pd = device.allocPd();
  const cq = device.createCq(MAX_CQE);
  return { name, address: addressOf(host), device, pd, cq, memory: new HostMemory(pd, host, scenario), notes };
}

/** Whether it is done on the own host and sends nothing. */
function isLocal({ kind }: PlaygroundOperation): boolean {
  return kind === 'bind' || kind === 'invalidate';
}

function addressOf(host: number): IpAddress {
  return IpAddress.parse(`10.0.0.${host + 1}`);
}

/** A key that opens nothing: the same region, with another variant. */
function nextKey(rkey: number): number {
  return ((rkey & ~0xff) | ((rkey + 1) & 0xff)) >>> 0;
}

function little64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

const OPCODES: Readonly<Record<Exclude<OperationKind, 'recv'> | 'recv', WrOpcode>> = {
  send: WrOpcode.Send,
  'send-imm': WrOpcode.SendWithImm,
  write: WrOpcode.RdmaWrite,
  'write-imm': WrOpcode.RdmaWriteWithImm,
  read: WrOpcode.RdmaRead,
  'fetch-add': WrOpcode.AtomicFetchAndAdd,
  'cmp-swap': WrOpcode.AtomicCmpAndSwp,
  'atomic-write': WrOpcode.AtomicWrite,
  flush: WrOpcode.Flush,
  bind: WrOpcode.BindMw,
  invalidate: WrOpcode.LocalInv,
  join: WrOpcode.Send,
  leave: WrOpcode.Send,
  connect: WrOpcode.Send,
  accept: WrOpcode.Send,
  reject: WrOpcode.Send,
  patience: WrOpcode.Send,
  disconnect: WrOpcode.Send,
  recv: WrOpcode.Send,
};
const WORDS: Readonly<Record<OperationKind, string>> = {
  send: 'SEND',
  'send-imm': 'SEND with immediate',
  write: 'WRITE',
  'write-imm': 'WRITE with immediate',
  read: 'READ',
  'fetch-add': 'FETCH & ADD',
  'cmp-swap': 'COMPARE & SWAP',
  'atomic-write': 'ATOMIC WRITE',
  flush: 'FLUSH',
  bind: 'BIND',
  invalidate: 'INVALIDATE',
  join: 'JOIN',
  leave: 'LEAVE',
  connect: 'CONNECT',
  accept: 'ACCEPT',
  reject: 'REJECT',
  patience: 'PATIENCE',
  disconnect: 'DISCONNECT',
  recv: 'receive',
};
const MISTAKE_WORDS = {
  rkey: 'with a key that opens nothing',
  range: 'beyond the end of the region',
  right: 'to a region that does not allow it',
} as const;
const BRINGING: readonly OperationKind[] = ['read', 'fetch-add', 'cmp-swap'];
const WITHOUT_SGES: readonly OperationKind[] = ['atomic-write', 'flush'];
const QKEY = 0x11_11_11_11;
const GROUP = IpAddress.parse('239.1.2.3');
/** What a datagram to a group has for the number of a queue pair. */
const GROUP_QPN = 0xff_ff_ff;
const IMMEDIATE = 0x2a;
const DEFAULT_SWAP = 7;
const MAX_WR = 1_024;
const MAX_CQE = 4_096;
