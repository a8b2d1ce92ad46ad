/**
 * The scripted peer: one queue pair under test, and the test itself as the other end of its connection, packet by
 * packet. `rx` sends the subject real frames through the parser and the ICRC check, `expectTx` compares everything that
 * left the subject with a list, and nothing more may have left. Time is a number that `advance` moves.
 */
import { expect } from 'vitest';
import { FrameStatus } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { Op, SERVICE_MASK, Service } from '../../../packets/opcode.ts';
import { CompletionQueue } from '../../../transport/completion-queue.ts';
import { Congestion, type CongestionOptions } from '../../../transport/congestion/index.ts';
import { PortCounters } from '../../../transport/counters.ts';
import type { Defences } from '../../../transport/defences.ts';
import type { Persist } from '../../../transport/grant.ts';
import { KeyTable } from '../../../transport/key-table.ts';
import { Access, type MemoryRegion, ProtectionDomain } from '../../../transport/memory.ts';
import type { QpAttributes } from '../../../transport/qp-attributes.ts';
import type { QpCapabilities } from '../../../transport/qp-capabilities.ts';
import type { QpEvent } from '../../../transport/qp-event.ts';
import type { QpIdentity } from '../../../transport/qp-identity.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import type { QueuePair } from '../../../transport/queue-pair.ts';
import type { Random } from '../../../transport/random.ts';
import { RcQueuePair } from '../../../transport/rc-queue-pair.ts';
import type { SharedReceiveQueue } from '../../../transport/srq.ts';
import { UcQueuePair } from '../../../transport/uc-queue-pair.ts';
import { UdQueuePair } from '../../../transport/ud-queue-pair.ts';
import { type SendWr, WcOpcode, WcStatus, WorkCompletion } from '../../../transport/work.ts';
import type { XrcDomain } from '../../../transport/xrc-domain.ts';
import { XrcInitiator, XrcTarget } from '../../../transport/xrc-queue-pair.ts';
import { describePacket, type Packet, pattern } from './packets.ts';
import {
  buildFrame,
  PEER_IP,
  PEER_QPN,
  parseBytes,
  pathTemplate,
  readFrame,
  SLOT_BYTES,
  SUBJECT_IP,
  SUBJECT_QPN,
} from './wire.ts';

export const ALL_ACCESS = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;

/** Runs of a property: `normal`, unless the environment variable FC_RUNS asks for more or less. */
export function fcRuns(normal: number): number {
  const { FC_RUNS } = process.env;
  return FC_RUNS === undefined ? normal : Number(FC_RUNS);
}

export interface PeerOptions {
  /** RC unless said otherwise; UC and UD too. */
  readonly type?: QpType;
  /** First PSN of both directions; default two before the wrap. */
  readonly psn?: number;
  readonly mtu?: number;
  readonly access?: number;
  readonly maxDestRdAtomic?: number;
  readonly maxRdAtomic?: number;
  readonly minRnrTimer?: number;
  readonly timeout?: number;
  readonly retryCnt?: number;
  readonly rnrRetry?: number;
  readonly capabilities?: Partial<QpCapabilities>;
  /** Of several queue pairs of one device: what they share, and the number that tells them apart. */
  readonly keys?: KeyTable;
  readonly pd?: ProtectionDomain;
  readonly qpn?: number;
  readonly cqSize?: number;
  /** End-to-end credits are given and taken. */
  readonly flowControl?: boolean;
  /** An XRC target of this domain. */
  readonly domain?: XrcDomain;
  /** Receives come from here. */
  readonly srq?: SharedReceiveQueue;
  /** State to stop at on the way to RTS. */
  readonly state?: QpState;
  /** What the subject does about congestion. */
  readonly congestion?: CongestionOptions;
  /** What it does about packets that no honest peer sends. */
  readonly defences?: Defences;
}

export interface RegionSpec {
  readonly length?: number;
  readonly access?: number;
  readonly iova?: bigint;
  readonly pd?: ProtectionDomain;
  readonly seed?: number;
  readonly remoteInvalidate?: boolean;
  readonly persistent?: Persist;
}

/** A small generator for keys, so that a run is the same every time. */
export function seededRandom(seed: number): Random {
  let x = seed >>> 0 || 1;
  return {
    u32() {
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      x >>>= 0;
      return x;
    },
  };
}

/** Of a UD queue pair under test. */
export const SUBJECT_QKEY = 0x1234_5678;

function makeQueuePair(
  { type, mtu = 256, domain }: PeerOptions,
  identity: QpIdentity,
  capabilities: QpCapabilities,
  counters: PortCounters,
): QueuePair {
  if (domain !== undefined) return new XrcTarget(identity, domain, counters);
  if (type === QpType.XrcSend) return new XrcInitiator(identity, capabilities, counters);
  if (type === QpType.Uc) return new UcQueuePair(identity, capabilities, counters);
  if (type === QpType.Ud) return new UdQueuePair(identity, capabilities, counters, mtu);
  return new RcQueuePair(identity, capabilities, counters);
}

/** One for all peers: half a megabyte is too much to allocate for every small script. */
const sharedWriter = new FrameWriter(64, SLOT_BYTES);

export class Peer {
  readonly qp: QueuePair;
  readonly pd: ProtectionDomain;
  readonly keys: KeyTable;
  readonly counters = new PortCounters();
  readonly congestion: Congestion | undefined;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  /** Frames that were not handed to the queue pair, by the status that stopped them. */
  readonly stopped: string[] = [];
  /** Raw bytes of every frame the subject sent. */
  readonly sent: Uint8Array[] = [];
  now = 1_000_000;
  readonly firstPsn: number;
  readonly #wc = new WorkCompletion();
  #outbox: Packet[] = [];

  constructor(options: PeerOptions = {}) {
    this.firstPsn = options.psn ?? 0xff_ff_fe;
    this.pd = options.pd ?? new ProtectionDomain(1);
    this.keys = options.keys ?? new KeyTable(seededRandom(0x5eed), 1000);
    this.sendCq = new CompletionQueue(options.cqSize ?? 1000, []);
    this.recvCq = new CompletionQueue(options.cqSize ?? 1000, []);
    const { pd, keys, sendCq, recvCq, counters } = this;
    const capabilities = { maxSendWr: 256, maxRecvWr: 256, maxSge: 4, maxInlineData: 64, ...options.capabilities };
    const shared = options.srq === undefined ? {} : { srq: options.srq };
    if (options.congestion !== undefined) this.congestion = new Congestion(options.congestion, counters);
    const { congestion } = this;
    const { defences } = options;
    const identity = { qpn: options.qpn ?? SUBJECT_QPN, pd, keys, sendCq, recvCq, congestion, defences, ...shared };
    this.qp = makeQueuePair(options, identity, capabilities, counters);
    this.connect(options);
  }

  /** RESET to RTS, or to the state the options name. */
  connect(options: PeerOptions = {}): void {
    const { qp } = this;
    const state = options.state ?? QpState.Rts;
    if (qp.type === QpType.Uc || qp.type === QpType.Ud) {
      this.#connectUnreliable(options, state);
      return;
    }
    if (state >= QpState.Init) qp.modify({ state: QpState.Init, access: options.access ?? ALL_ACCESS });
    if (state >= QpState.Rtr) {
      qp.modify({
        state: QpState.Rtr,
        path: { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP },
        destQpn: PEER_QPN,
        rqPsn: this.firstPsn,
        mtu: options.mtu ?? 256,
        ...(options.flowControl === true ? { flowControl: true } : {}),
        ...(qp.type === QpType.XrcSend
          ? {}
          : { maxDestRdAtomic: options.maxDestRdAtomic ?? 4, minRnrTimer: options.minRnrTimer ?? 12 }),
      });
    }
    if (state >= QpState.Rts) {
      qp.modify({
        state: QpState.Rts,
        sqPsn: this.firstPsn,
        timeout: options.timeout ?? 14,
        ...(qp.type === QpType.XrcRecv
          ? {}
          : {
              retryCnt: options.retryCnt ?? 3,
              rnrRetry: options.rnrRetry ?? 3,
              maxRdAtomic: options.maxRdAtomic ?? 4,
            }),
      });
    }
    if (state === QpState.Sqd || state === QpState.Error) qp.modify({ state });
  }

  #connectUnreliable({ access = ALL_ACCESS, mtu = 256 }: PeerOptions, state: QpState): void {
    const { qp, firstPsn } = this;
    const ud = qp.type === QpType.Ud;
    const path = { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP };
    if (state >= QpState.Init) qp.modify({ state: QpState.Init, ...(ud ? { qkey: SUBJECT_QKEY } : { access }) });
    if (state >= QpState.Rtr)
      qp.modify({ state: QpState.Rtr, ...(ud ? {} : { path, destQpn: PEER_QPN, rqPsn: firstPsn, mtu }) });
    if (state >= QpState.Rts) qp.modify({ state: QpState.Rts, sqPsn: firstPsn });
    if (state === QpState.Sqd || state === QpState.Error) qp.modify({ state });
  }

  /** Changes what only a queue pair in SQD may change, and goes on. */
  modifyQuietly(attributes: QpAttributes): void {
    this.qp.modify({ state: QpState.Sqd });
    this.qp.modify(attributes);
    this.qp.modify({ state: QpState.Rts });
  }

  /** Registers memory of the subject, filled with a pattern. */
  region(spec: RegionSpec = {}): MemoryRegion {
    const { length = 4096, access = ALL_ACCESS, iova = 0x7f00_0000_0000n, pd = this.pd, seed = 9 } = spec;
    const remoteInvalidate = spec.remoteInvalidate ?? false;
    const { persistent } = spec;
    return this.keys.register(pd, pattern(length, seed), { access, iova, remoteInvalidate, persistent });
  }

  /** Posts a receive of `length` bytes in a fresh zeroed region, which is returned. */
  postRecv(wrId: number, length = 1024): MemoryRegion {
    const mr = this.region({ length, access: Access.LocalWrite });
    mr.bytes.fill(0);
    this.qp.postRecv({ wrId, sges: [{ mr }] });
    return mr;
  }

  post(...wrs: readonly SendWr[]): void {
    for (const wr of wrs) this.qp.postSend(wr);
  }

  /** Hands packets to the subject in one go; replies are collected when they are asked for. */
  rx(...packets: readonly Packet[]): void {
    for (const packet of packets) this.rxBytes(buildFrame(packet, this.firstPsn));
  }

  /** As a device does it: parse, check the ICRC, dispatch. */
  rxBytes(bytes: Uint8Array): void {
    const { frame, status, icrc } = parseBytes(bytes);
    if (icrc && frame.opcode === Op.Cnp) this.qp.handleCnp(this.now, frame);
    else if (icrc && status === FrameStatus.Ok) this.qp.handleFrame(this.now, frame);
    else if (icrc && (frame.opcode & SERVICE_MASK) === Service.Rc) this.qp.handleReserved(this.now, frame);
    else this.stopped.push(icrc ? 'opcode' : status === FrameStatus.Ok ? 'icrc' : `status ${status}`);
  }

  /** The congestion notifications that the subject's device owes, as frames. */
  notifications(): Uint8Array[] {
    sharedWriter.reset();
    this.congestion?.notification?.transmit(this.now, sharedWriter);
    const { bytes, starts, lengths, count } = sharedWriter;
    return Array.from({ length: count }, (_, i) => bytes.slice(starts[i], (starts[i] ?? 0) + (lengths[i] ?? 0)));
  }

  /** Everything the subject has sent since the last look. */
  drain(): Packet[] {
    this.pump();
    const packets = this.#outbox;
    this.#outbox = [];
    return packets;
  }

  /** What one call of `transmit` sends, and no more. */
  burst(): Packet[] {
    sharedWriter.reset();
    this.qp.transmit(this.now, sharedWriter);
    this.#collect();
    const packets = this.#outbox;
    this.#outbox = [];
    return packets;
  }

  /** The subject has sent exactly these packets, in this order, since the last look. */
  expectTx(packets: readonly Packet[]): void {
    expect(this.drain().map(describePacket)).toEqual(packets.map(describePacket));
  }

  silence(): void {
    this.expectTx([]);
  }

  /** Lets time pass; the subject is called at each of its deadlines and may send whenever it is called. */
  advance(ns: number): void {
    const until = this.now + ns;
    this.pump();
    for (let steps = 0; this.qp.nextDeadline() <= until; steps++) {
      if (steps > 10_000) throw new Error('the queue pair asks for ever more deadlines');
      this.now = Math.max(this.now, this.qp.nextDeadline());
      this.qp.handleTimeout(this.now);
      this.pump();
    }
    this.now = until;
  }

  /** Lets the subject send all it may. */
  pump(): void {
    for (let rounds = 0; this.qp.pending; rounds++) {
      if (rounds > 10_000) throw new Error('the queue pair always has something pending');
      sharedWriter.reset();
      this.qp.transmit(this.now, sharedWriter);
      if (sharedWriter.count === 0) return;
      this.#collect();
    }
  }

  /** Completions since the last look: those of sends, then those of receives. */
  completions(): string[] {
    return [...this.#poll(this.sendCq, 'send'), ...this.#poll(this.recvCq, 'recv')];
  }

  events(): QpEvent[] {
    const events: QpEvent[] = [];
    for (let event = this.qp.pollEvent(); event !== undefined; event = this.qp.pollEvent()) {
      // What the device passes to the connection manager, not to the application.
      if (event !== 'first-request') events.push(event);
    }
    return events;
  }

  /** A new request at relative PSN `psn` is executed: the proof that what came before changed nothing. */
  expectUsable(psn: number, msn: number): void {
    this.silence();
    this.rx({ opcode: 0x0a, psn, ackReq: true, reth: { va: 0n, rkey: 0, length: 0 } });
    const [reply, ...more] = this.drain();
    expect(more).toEqual([]);
    expect(reply === undefined ? 'silence' : describePacket(reply)).toBe(`ACK psn+${psn} msn ${msn}`);
    expect(this.qp.state).toBe(QpState.Rts);
  }

  #collect(): void {
    const writer = sharedWriter;
    for (let i = 0; i < writer.count; i++) {
      const start = writer.starts[i] ?? 0;
      const bytes = writer.bytes.slice(start, start + (writer.lengths[i] ?? 0));
      this.sent.push(bytes);
      this.#outbox.push(readFrame(bytes, this.firstPsn, this.qp.config, this.qp.config.path?.remote));
    }
  }

  #poll(cq: CompletionQueue, side: string): string[] {
    const lines: string[] = [];
    while (cq.poll(this.#wc)) lines.push(`${side} ${describeCompletion(this.#wc)}`);
    return lines;
  }
}

const nameOf = (table: Readonly<Record<string, number>>, value: number): string =>
  Object.entries(table).find(([, v]) => v === value)?.[0] ?? `${value}`;

/** "1 Success RdmaRead 512 bytes", "7 Success Recv 5 bytes imm 0x2a", "3 RetryExcErr". */
export function describeCompletion(wc: WorkCompletion): string {
  const words = [`${wc.wrId}`, nameOf(WcStatus, wc.status)];
  if (wc.status === WcStatus.Success) {
    words.push(nameOf(WcOpcode, wc.opcode));
    if (wc.opcode >= WcOpcode.Recv || wc.byteLen > 0) words.push(`${wc.byteLen} bytes`);
  }
  if (wc.immData >= 0) words.push(`imm 0x${wc.immData.toString(16)}`);
  if (wc.invalidatedRkey >= 0) words.push(`inv 0x${wc.invalidatedRkey.toString(16)}`);
  if (wc.grh) words.push(`from ${wc.srcQpn}`);
  if (wc.solicited) words.push('solicited');
  return words.join(' ');
}
