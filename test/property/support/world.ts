/**
 * Two queue pairs, a channel with seeded faults between them, and virtual time. After every step the invariants of
 * ref:hostile#7 are checked; at the end memory is compared with the model. The same scenario gives the same bytes.
 */
import fc from 'fast-check';
import { aethSyndrome } from '../../../packets/aeth.ts';
import { crc32 } from '../../../packets/crc32.ts';
import { Frame, FrameStatus } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { AETH_AT, Op as BthOp, OpFlag, RETH_AT } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import { rethDmaLength } from '../../../packets/reth.ts';
import { QpState } from '../../../transport/qp-state.ts';
import type { Random } from '../../../transport/random.ts';
import { WcStatus, WorkCompletion } from '../../../transport/work.ts';
import { seededRandom } from '../../transport/support/peer.ts';
import { parseBytes, SLOT_BYTES } from '../../transport/support/wire.ts';
import { QUEUE_DEPTH, Side } from './side.ts';
import { type Op, op, Workload } from './workload.ts';

export interface Scenario {
  readonly seed: number;
  readonly mtu: number;
  readonly psns: readonly [number, number];
  /** Per thousand. */
  readonly loss: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly corrupt: number;
  readonly retryCnt: number;
  readonly minRnrTimer: number;
  readonly maxRdAtomic: number;
  /** Receives posted at the start; the others follow one by one. */
  readonly receivesAtStart: number;
  readonly receiveGapNs: number;
  /** Each side sends one frame in so much time; 0 for all it may at once. */
  readonly paceNs: number;
  readonly ops: readonly [readonly Op[], readonly Op[]];
}

const psn = fc.oneof(
  fc.constantFrom(0, 0x7f_ff_f0, 0x80_00_00, 0xff_ff_f0, 0xff_ff_fe, 0xff_ff_ff),
  fc.nat(0xff_ff_ff),
);

/** Random scenarios whose faults are at most the given ones. */
export function scenario(
  faults: { loss: number; duplicate: number; reorder: number; corrupt: number },
  retryCnt = 7,
  paceNs = 0,
  each: fc.Arbitrary<Op> = op,
) {
  return fc.record<Scenario>({
    seed: fc.nat(0x7f_ff_ff_ff),
    mtu: fc.constantFrom(256, 512, 1024, 2048, 4096),
    psns: fc.tuple(psn, psn),
    loss: fc.nat(faults.loss),
    duplicate: fc.nat(faults.duplicate),
    reorder: fc.nat(faults.reorder),
    corrupt: fc.nat(faults.corrupt),
    retryCnt: fc.constant(retryCnt),
    minRnrTimer: fc.integer({ min: 1, max: 12 }),
    maxRdAtomic: fc.integer({ min: 1, max: 5 }),
    receivesAtStart: fc.nat(20),
    receiveGapNs: fc.nat(400_000),
    paceNs: fc.nat(paceNs),
    ops: fc.tuple(fc.array(each, { maxLength: 20 }), fc.array(each, { maxLength: 20 })),
  });
}

const DELAY_NS = 5_000;
const TIMEOUT = 8;
/** Faults end here; from then on everything must come to an end. */
const CALM_NS = 20_000_000;
const END_NS = 2_000_000_000;
const MAX_STEPS = 400_000;

interface Flight {
  readonly at: number;
  readonly to: Side;
  readonly bytes: Uint8Array;
  /** Bytes in which a bit was flipped. */
  readonly flipped: readonly number[];
}

const writer = new FrameWriter(32, SLOT_BYTES);
const oneFrame = new FrameWriter(1, SLOT_BYTES);
const frame = new Frame();

export class World {
  readonly sides: readonly [Side, Side];
  readonly work: readonly [Workload, Workload];
  /** Hash over every frame sent and the time at which it was. */
  trace = 0;
  frames = 0;
  now = 1_000;
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #wc = new WorkCompletion();
  #inFlight: Flight[] = [];
  readonly #posted: [number, number] = [0, 0];
  readonly #receivesPosted: [number, number] = [0, 0];
  /** Completions seen: status by request, of sends and of receives. */
  readonly sendStatus: [Map<number, number>, Map<number, number>] = [new Map(), new Map()];
  readonly recvStatus: [number[], number[]] = [[], []];
  readonly #nextSend: [number, number] = [0, 0];
  readonly #maySendAt: [number, number] = [0, 0];

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#random = seededRandom(scenario.seed + 1);
    writer.nextIpId = 1;
    oneFrame.nextIpId = 1;
    const [psnA, psnB] = scenario.psns;
    const a = new Side(1, this.#random, psnA);
    const b = new Side(2, this.#random, psnB);
    const { mtu, retryCnt, minRnrTimer, maxRdAtomic } = scenario;
    const common = {
      mtu,
      timeout: TIMEOUT,
      retryCnt,
      rnrRetry: 7,
      minRnrTimer,
      maxRdAtomic,
      maxDestRdAtomic: maxRdAtomic,
    };
    a.connect(b, { ...common, sqPsn: psnA, rqPsn: psnB });
    b.connect(a, { ...common, sqPsn: psnB, rqPsn: psnA });
    this.sides = [a, b];
    this.work = [
      new Workload(a, b, scenario.ops[0], mtu, this.#random),
      new Workload(b, a, scenario.ops[1], mtu, this.#random),
    ];
  }

  /** Runs until nothing moves any more. */
  run(): this {
    for (let steps = 0; ; steps++) {
      must(steps < MAX_STEPS && this.now < END_NS, 'a run comes to an end');
      this.#postReceives();
      for (const i of [0, 1] as const) {
        this.#postSends(i);
        this.#transmit(i);
        this.#complete(i);
      }
      const next = this.#nextTime();
      if (next === Number.POSITIVE_INFINITY) break;
      must(next >= this.now, 'no deadline lies in the past');
      this.now = next;
      this.#happen();
    }
    this.#checkEnd();
    return this;
  }

  get failed(): boolean {
    return this.sides.some(({ qp }) => qp.state === QpState.Error);
  }

  #postSends(i: 0 | 1): void {
    const { qp } = this.sides[i];
    const { wrs } = this.work[i];
    while (this.#posted[i] < wrs.length && qp.sendsOutstanding < QUEUE_DEPTH) {
      const wr = wrs[this.#posted[i]];
      if (wr !== undefined) qp.postSend(wr);
      this.#posted[i] += 1;
    }
  }

  /** Receives for the work of side `i` are posted at the other side. */
  #postReceives(): void {
    for (const i of [0, 1] as const) {
      const due = this.#scenario.receivesAtStart + Math.floor(this.now / (this.#scenario.receiveGapNs + 1));
      const { receives } = this.work[i];
      while (this.#receivesPosted[i] < Math.min(receives.length, due)) {
        this.work[i].postReceive(this.#receivesPosted[i]);
        this.#receivesPosted[i] += 1;
      }
    }
  }

  #nextTime(): number {
    let next = this.#inFlight[0]?.at ?? Number.POSITIVE_INFINITY;
    for (const i of [0, 1] as const) {
      const { qp } = this.sides[i];
      next = Math.min(next, qp.nextDeadline());
      if (qp.pending && this.#scenario.paceNs > 0) next = Math.min(next, Math.max(this.now, this.#maySendAt[i]));
    }
    const { receivesAtStart, receiveGapNs } = this.#scenario;
    for (const i of [0, 1] as const) {
      const posted = this.#receivesPosted[i];
      if (posted < this.work[i].receives.length) {
        next = Math.min(next, Math.max(this.now, (posted + 1 - receivesAtStart) * (receiveGapNs + 1)));
      }
    }
    return next;
  }

  #happen(): void {
    const flight = this.#inFlight[0];
    if (flight !== undefined && flight.at <= this.now) {
      this.#inFlight.shift();
      this.#deliver(flight);
    }
    for (const { qp } of this.sides) if (qp.nextDeadline() <= this.now) qp.handleTimeout(this.now);
  }

  #transmit(i: 0 | 1): void {
    const { paceNs } = this.#scenario;
    if (paceNs === 0) {
      for (let rounds = 0; this.sides[i].qp.pending && this.#transmitInto(i, writer); rounds++) {
        must(rounds < 10_000, 'a queue pair runs out of things to send');
      }
    } else if (this.now >= this.#maySendAt[i] && this.#transmitInto(i, oneFrame)) {
      this.#maySendAt[i] = this.now + paceNs;
    }
  }

  /** False when nothing was sent. */
  #transmitInto(i: 0 | 1, batch: FrameWriter): boolean {
    const side = this.sides[i];
    batch.reset();
    side.qp.transmit(this.now, batch);
    for (let k = 0; k < batch.count; k++) {
      const start = batch.starts[k] ?? 0;
      const bytes = batch.bytes.slice(start, start + (batch.lengths[k] ?? 0));
      this.#send(side, i === 0 ? this.sides[1] : this.sides[0], bytes);
    }
    return batch.count > 0;
  }

  #send(from: Side, to: Side, bytes: Uint8Array): void {
    this.frames += 1;
    // Without the ICRC: a CRC over data and its own CRC says nothing of the data.
    this.trace = (Math.imul(this.trace ^ crc32(bytes, 0, bytes.length - 4), 0x01_00_01_93) ^ this.now) >>> 0;
    const { status, icrc } = parseBytes(bytes, frame);
    must(status === FrameStatus.Ok && icrc, 'every frame sent has a right ICRC');
    must(frame.destQpn === to.qp.qpn, 'frames go to the peer');
    // Of READ responses, the one that answers FLUSH and ATOMIC WRITE and carries nothing.
    const acknowledges = (frame.flags & OpFlag.Response) !== 0 && frame.payloadLength === 0;
    must(acknowledges || from.qp.state !== QpState.Error, 'in ERROR only what was executed is still acknowledged');
    if ((frame.flags & OpFlag.Response) !== 0) {
      must(psnDiff(frame.psn, to.sqPsn) <= from.requested, 'nothing is acknowledged that was not asked for');
    }
    const { loss, duplicate } = this.#scenario;
    if (this.#chance(loss)) return;
    this.#launch(to, bytes);
    if (this.#chance(duplicate)) this.#launch(to, bytes);
  }

  #launch(to: Side, bytes: Uint8Array): void {
    const { reorder, corrupt } = this.#scenario;
    const late = this.#chance(reorder) ? this.#random.u32() % 60_000 : 0;
    const flipped: number[] = [];
    const copy = bytes.slice();
    for (let n = this.#chance(corrupt) ? 1 + (this.#random.u32() % 3) : 0; n > 0; n--) {
      const bit = this.#random.u32() % (copy.length * 8);
      const at = bit >> 3;
      copy[at] = (copy[at] ?? 0) ^ (1 << (bit & 7));
      flipped.push(at);
    }
    const flight = { at: this.now + DELAY_NS + late, to, bytes: copy, flipped };
    let place = this.#inFlight.length;
    while (place > 0 && (this.#inFlight[place - 1]?.at ?? 0) > flight.at) place -= 1;
    this.#inFlight.splice(place, 0, flight);
  }

  #chance(perThousand: number): boolean {
    return this.now < CALM_NS && this.#random.u32() % 1000 < perThousand;
  }

  #deliver({ to, bytes, flipped }: Flight): void {
    const { status, icrc } = parseBytes(bytes, frame);
    if (status !== FrameStatus.Ok || !icrc) {
      must(flipped.length > 0, 'only damaged frames are stopped');
      return;
    }
    const harmless = flipped.every((at) => flipped.filter((other) => other === at).length > 1 || isMasked(at));
    must(harmless, 'the ICRC finds every damage to what it covers');
    this.#witness(to);
    to.qp.handleFrame(this.now, frame);
    bytes.fill(0xdd);
  }

  /** What an onlooker learns from the frame about to be handed to `to`. */
  #witness(to: Side): void {
    const from = this.sides[0] === to ? this.sides[1] : this.sides[0];
    if ((frame.flags & OpFlag.Response) === 0) {
      const read = (frame.flags & OpFlag.Read) !== 0;
      const length = read ? rethDmaLength(frame.view, frame.bthOffset + (RETH_AT[frame.opcode] ?? 0)) : 0;
      const last = psnDiff(frame.psn, from.sqPsn) + Math.max(1, Math.ceil(length / this.#scenario.mtu)) - 1;
      to.requested = Math.max(to.requested, last);
      return;
    }
    const at = psnDiff(frame.psn, to.sqPsn);
    if (frame.opcode !== BthOp.Acknowledge) to.answered.add(at);
    const aeth = AETH_AT[frame.opcode] ?? -1;
    const positive = aeth < 0 || aethSyndrome(frame.view, frame.bthOffset + aeth) < 0x20;
    to.vouched = Math.max(to.vouched, positive ? at : at - 1);
  }

  #complete(i: 0 | 1): void {
    const side = this.sides[i];
    const wc = this.#wc;
    while (side.sendCq.poll(wc)) this.#sendCompleted(i, wc);
    while (side.recvCq.poll(wc)) this.#receiveCompleted(i === 0 ? 1 : 0, wc);
    must(!side.sendCq.overrun && !side.recvCq.overrun, 'no completion is lost');
  }

  #sendCompleted(i: 0 | 1, wc: WorkCompletion): void {
    const { sends, from } = this.work[i];
    const status = this.sendStatus[i];
    const failing = [...status.values()].some((value) => value !== WcStatus.Success);
    for (let k = this.#nextSend[i]; k < wc.wrId; k++) {
      must(
        sends[k]?.signaled === false && !failing,
        'requests complete in order, and only unsignalled ones in silence',
      );
    }
    must(wc.wrId >= this.#nextSend[i], 'a request completes once');
    this.#nextSend[i] = wc.wrId + 1;
    status.set(wc.wrId, wc.status);
    const expected = sends[wc.wrId];
    must(expected !== undefined && wc.opcode === expected.opcode, 'a completion names what was asked');
    if (wc.status !== WcStatus.Success) {
      must(
        failing ? wc.status === WcStatus.WrFlushErr : wc.status === WcStatus.RetryExcErr,
        'retries run out, the rest is flushed',
      );
      return;
    }
    must(!failing && expected.signaled, 'nothing succeeds after a failure');
    must(wc.byteLen === expected.byteLen, 'a completion tells the bytes that came');
    must(from.vouched >= expected.lastPsn, 'nothing completes without evidence');
    for (let at = expected.firstPsn; expected.expectsResponse && at <= expected.lastPsn; at++) {
      must(from.answered.has(at), 'a READ or atomic completes with all of its answer');
    }
  }

  /** `i` is the workload whose messages are received. */
  #receiveCompleted(i: 0 | 1, wc: WorkCompletion): void {
    const statuses = this.recvStatus[i];
    must(wc.wrId === statuses.length, 'receives complete in order, once');
    statuses.push(wc.status);
    if (wc.status !== WcStatus.Success) {
      must(wc.status === WcStatus.WrFlushErr && this.failed, 'a receive fails only with its queue pair');
      return;
    }
    const expected = this.work[i].receives[wc.wrId];
    must(expected !== undefined, 'no message comes from nowhere');
    must(wc.opcode === expected.opcode && wc.byteLen === expected.byteLen, 'a message has its kind and length');
    must(wc.immData === expected.imm && wc.invalidatedRkey === expected.inv, 'immediate and invalidated key arrive');
    must(wc.solicited === expected.solicited, 'the solicited bit arrives');
    const got = this.work[i].receivedBytes(wc.wrId, expected.data.length);
    must(Buffer.compare(got, expected.data) === 0, 'a message arrives byte for byte');
  }

  #checkEnd(): void {
    for (const i of [0, 1] as const) {
      const { qp } = this.sides[i];
      const { wrs } = this.work[i];
      must(qp.sendsOutstanding === 0 && !qp.pending, 'nothing is left in the queues');
      must(qp.nextDeadline() === Number.POSITIVE_INFINITY, 'no timer is left');
      must(this.#posted[i] === wrs.length, 'all work was posted');
      if (qp.state === QpState.Error) {
        must(this.#nextSend[i] === wrs.length, 'in ERROR everything has completed');
        must(qp.receivesPosted === 0, 'in ERROR no receive is left');
      }
    }
    if (!this.failed) this.#checkSuccess();
  }

  #checkSuccess(): void {
    for (const i of [0, 1] as const) {
      const { sends, receives, doomed, flushed, toFlush } = this.work[i];
      const signaled = sends.filter((each) => each.signaled).length;
      must(this.sendStatus[i].size === signaled, 'every signalled request has completed');
      must(this.recvStatus[i].length === receives.length, 'every message was received');
      for (const region of doomed.values()) must(!region.valid, 'invalidated keys are dead');
      must(flushed.length === toFlush.length, 'every FLUSH is executed once');
      for (const [k, found] of flushed.entries())
        must(
          Buffer.compare(found, toFlush[k] ?? NOTHING) === 0,
          'a FLUSH finds what was written before it, and no more',
        );
      const { remote, sink } = this.work[i].memoryMatches();
      must(remote, 'remote memory equals the flat model');
      must(sink, 'local memory equals the flat model');
    }
  }
}

const NOTHING = new Uint8Array(0);

/**
 * TOS, TTL, UDP checksum and BTH byte 4: what the ICRC leaves out and no other check covers once it is damaged alone.
 */
function isMasked(at: number): boolean {
  return [1, 8, 10, 11, 26, 27, 32].includes(at);
}

function must(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Error(`violated: ${sentence}`);
}
