/**
 * Holds what a requester sends and completes against what was posted and answered (ref:conformance#REQ, RNR,
 * OPS-12..OPS-17, LEN-13). Two bounds say what it must and what it may hold for acknowledged; between them it is free.
 * Time is a number: timeouts are allowed once the oldest unacknowledged packet has been out for the interval, and never
 * demanded.
 */
import { Op, RNR_TIMER_NS } from 'rocev2/packets';
import { describePacket, isResponse, type Packet } from 'rocev2/packets/kit';
import type { ModelDifference } from './difference.ts';
import type { Profile } from './profiles.ts';
import { evidenceOf, type OpenWork } from './requester-evidence.ts';
import { isAnswered, type Placed, placed, requestAt, requestFault, type WorkRequest } from './requester-work.ts';

/** A completion of a send: which work request, by its place in the order of posting, and its status of verbs. */
export interface Completed {
  readonly wrId: number;
  readonly status: number;
}

export interface RequesterSetup {
  readonly profile: Profile;
  readonly mtu: number;
  /** READs and atomics that may be unanswered. */
  readonly maxRdAtomic: number;
  /** Of the ACK timeout, in nanoseconds. */
  readonly timeoutNs: number;
  readonly retryCnt: number;
  /** Times as the tester sees them are those of the device: a timeout that comes too early is a difference. */
  readonly exactTime: boolean;
}

/** How a failure shows: which work request and status; -1: any. */
interface Failure {
  readonly index: number;
  readonly status: number;
  readonly must: boolean;
}

export class RequesterJudge {
  readonly setup: RequesterSetup;
  #works: readonly Placed[] = [];
  /** Next PSN in order, and the newest that was asked for. */
  #cursor = 0;
  #newest = -1;
  /** All PSNs before `#must` are acknowledged; before `#may` they may count as such. */
  #must = 0;
  #may = 0;
  /** PSNs from which packets may go out again, each once. */
  #again: number[] = [];
  /** Packets have to go out again from here. */
  #due: { readonly from: number; readonly ruleId: string } | undefined;
  /** A NAK asked it to retransmit, or it did, and nothing was acknowledged since. */
  #told = false;
  #quietUntil = -Infinity;
  /**
   * First packet of the oldest work request that was not complete when the device was last quiet: what was complete is
   * not sent again.
   */
  #floor = 0;
  /** Newest PSN that was sent with AckReq. */
  #asked = -1;
  #lastSent = new Map<number, number>();
  /** Times that packets went out again without progress. */
  #strikes = 0;
  #failures: Failure[] = [];
  #completed: { readonly index: number; readonly status: number }[] = [];
  /** Work requests of which packets went out again. */
  readonly #repeated = new Set<number>();
  #strayed = false;

  constructor(setup: RequesterSetup) {
    this.setup = setup;
  }

  /** READs and atomics that completed without proof, as the profile lets them: their data are not checked. */
  readonly unproven = new Set<number>();

  get works(): readonly Placed[] {
    return this.#works;
  }

  /** Newest PSN that was asked for; -1 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** All before it is acknowledged. */
  get acknowledged(): number {
    return this.#must;
  }

  /** A work request completed in error. */
  get failed(): boolean {
    return this.#completed.some(({ status }) => status !== 0);
  }

  /** A fatal answer was given: an error has to come. */
  get failing(): boolean {
    return this.#failures.some(({ must }) => must);
  }

  /**
   * Nothing more is checked: a work request failed, or the device has deviated as its profile says, and what it does
   * after that cannot be predicted. In the second case nothing counts as a failure any more.
   */
  get over(): boolean {
    return this.failed || this.#strayed;
  }

  /** The second of these. */
  get strayed(): boolean {
    return this.#strayed;
  }

  /** All work requests that are to complete have. */
  get complete(): boolean {
    const seen = new Set(this.#completed.map(({ index }) => index));
    return this.#works.every(({ index, signaled }) => !signaled || seen.has(index));
  }

  /** All that was posted is acknowledged. */
  get done(): boolean {
    return this.#must > (this.#works.at(-1)?.last ?? -1);
  }

  posted(work: WorkRequest): Placed {
    const one = placed(this.#works, work, this.setup.mtu);
    this.#works = [...this.#works, one];
    return one;
  }

  /** An answer was sent to the device. */
  answered(packet: Packet, nowNs: number): void {
    const { profile } = this.setup;
    const open: OpenWork = { profile, works: this.#works, newest: this.#newest };
    const least = evidenceOf({ ...open, profile: { ...profile, switches: [] } }, this.#must, packet);
    const most = evidenceOf(open, this.#may, packet);
    // A plain ACK inside of an open READ is no proof of anything (REQ-13).
    const proves = least.again?.ruleId !== 'REQ-13' && least.again?.ruleId !== 'REQ-14';
    if (proves && least.bound > this.#may) {
      // Progress for every device; one that has made it already does not start counting anew.
      this.#strikes = 0;
      this.#told = false;
    }
    if (proves) this.#must = Math.max(this.#must, least.bound);
    this.#may = Math.max(this.#may, most.bound, this.#must);
    for (const work of this.#works)
      if (isAnswered(work) && work.last >= this.#must && (work.last < this.#may || this.#mayBelieve(work, packet)))
        this.unproven.add(work.index);
    const again = least.again ?? most.again;
    if (again !== undefined) this.#again.push(Math.max(again.from, most.again?.from ?? 0, this.#may));
    // Without progress since, another NAK may be taken for an echo of the first (ACK-14): its timer is then what makes
    // the device go on.
    if (least.again?.must === true && most.again?.must === true && !this.#told) this.#due = least.again;
    if (again !== undefined) this.#told = true;
    if (this.#due !== undefined && this.#must > this.#due.from) this.#due = undefined;
    // Behind an open READ or atomic it may be taken for an implied NAK, which asks for no wait (REQ-17).
    if (least.rnr !== undefined && most.rnr !== undefined && least.again?.from === packet.psn)
      this.#quietUntil = nowNs + (RNR_TIMER_NS[least.rnr] ?? 0);
    const both = least.fails?.must === true && most.fails?.must === true;
    for (const { fails } of [least, most]) if (fails !== undefined) this.#failures.push({ ...fails, must: both });
  }

  /** A device of the profile takes a plain ACK for the answer itself. */
  #mayBelieve(work: Placed, { psn, opcode }: Packet): boolean {
    const { switches } = this.setup.profile;
    return switches.includes('ack-in-read-completes') && opcode === Op.Acknowledge && psn >= work.last;
  }

  /** A packet of the device. */
  received(packet: Packet, nowNs: number): ModelDifference | undefined {
    if (isResponse(packet.opcode))
      return told('ACK-21', `${describePacket(packet)} came, and there was nothing to answer`);
    const { mtu } = this.setup;
    const { psn } = packet;
    if (this.#isEmptyRepetition(packet)) this.#strayed = true;
    if (this.#strayed) return undefined;
    const work = this.#works.find(({ first, last }) => psn >= first && psn <= last);
    if (work === undefined) return told('OPS-17', `${describePacket(packet)} came, and no such work was posted`);
    const fault = requestFault(work, packet, mtu);
    if (fault !== undefined)
      return told(fault.ruleId, `${describePacket(fault.wanted)} was expected, and ${describePacket(packet)} came`);
    const difference = this.#inTime(packet, work, nowNs) ?? this.#inOrder(packet, nowNs);
    if (difference !== undefined) return difference;
    this.#cursor = isAnswered(work) ? work.last + 1 : psn + 1;
    this.#newest = Math.max(this.#newest, this.#cursor - 1);
    if (packet.ackReq === true || isAnswered(work)) this.#asked = Math.max(this.#asked, this.#cursor - 1);
    for (let p = psn; p < this.#cursor; p++) this.#lastSent.set(p, nowNs);
    return undefined;
  }

  /** Completions of sends, in the order in which they were polled. */
  completed(completions: readonly Completed[]): ModelDifference | undefined {
    if (this.#strayed) return undefined;
    for (const { wrId, status } of completions) {
      const difference = this.#completes(wrId, status);
      if (difference !== undefined) return difference;
      this.#completed.push({ index: wrId, status });
    }
    return undefined;
  }

  /** The device has had all the time it needs, timers excepted; `final`: those as well. */
  settled(final = false): ModelDifference | undefined {
    if (this.#strayed) return undefined;
    const due = this.#due;
    if (due !== undefined && this.#quietUntil === -Infinity && !this.failed)
      return told(due.ruleId, `packets from psn+${due.from} on were to be sent again, and were not`);
    const seen = new Set(this.#completed.map(({ index }) => index));
    const missing = this.#works.find(({ index, last, signaled }) => signaled && last < this.#must && !seen.has(index));
    this.#strayed = final && missing !== undefined && this.#mayHaveLost(missing);
    if (missing !== undefined && !this.failed && !this.#strayed)
      return told('REQ-07', `work request ${missing.index} is acknowledged, and did not complete`);
    if (this.setup.exactTime) this.#floor = this.#works.find(({ last }) => last >= this.#must)?.first ?? this.#must;
    const silent = this.#newest === (this.#works.at(-1)?.last ?? -1) && this.#asked < this.#newest && !this.done;
    if (silent && !this.failed && this.setup.exactTime)
      return told('REQ-02', `psn+${this.#newest} is the last packet, and it did not ask for an ACK`);
    if (this.failing && !this.failed) return told('REQ-19', 'a work request was refused, and none failed');
    return undefined;
  }

  /** The wait of an RNR NAK is over. */
  waited(nowNs: number): void {
    if (nowNs >= this.#quietUntil) this.#quietUntil = -Infinity;
  }

  #inTime(packet: Packet, work: Placed, nowNs: number): ModelDifference | undefined {
    const line = describePacket(packet);
    if (this.failed) return told('REQ-34', `${line} came after a work request had failed`);
    if (nowNs < this.#quietUntil && this.setup.exactTime)
      return told(
        'RNR-08',
        `${line} came ${(this.#quietUntil - nowNs) / 1e3} us before the time of the RNR NAK was over`,
      );
    const unanswered = this.#works.filter((one) => isAnswered(one) && one.first <= Math.max(packet.psn, this.#newest));
    const open = unanswered.filter(({ last }) => last >= this.#may);
    if (open.length > this.setup.maxRdAtomic)
      return told('REQ-29', `${line} came, and ${open.length} READs and atomics are unanswered`);
    const before = this.#works.slice(0, work.index);
    if (work.fence && before.some((one) => isAnswered(one) && one.last >= this.#may))
      return told('REQ-30', `${line} came, and what its fence waits for is not complete`);
    return undefined;
  }

  /** In order, or again from a place that there is a reason for. */
  #inOrder(packet: Packet, nowNs: number): ModelDifference | undefined {
    const { psn } = packet;
    if (psn === this.#cursor) return undefined;
    const line = describePacket(packet);
    if (psn > this.#cursor) return told('REQ-27', `psn+${this.#cursor} was expected, and ${line} came`);
    if (psn < this.#floor) return told('REQ-15', `${line} came, and its work request is complete`);
    const reason = this.#again.findIndex((from) => psn <= from);
    if (reason >= 0) this.#again.splice(reason, 1);
    else if (!this.#mayTimeOut(psn, nowNs))
      return told('REQ-28', `psn+${this.#cursor} was expected, and ${line} came again without a reason`);
    if (this.#due !== undefined && psn <= Math.max(this.#due.from, this.#may)) this.#due = undefined;
    this.#strikes++;
    this.#told = true;
    for (const { index, first, last } of this.#works)
      if (last >= psn && first <= this.#newest) this.#repeated.add(index);
    return undefined;
  }

  /** A device of the profile forgets an ACK of what it was just sending again. */
  #mayHaveLost(work: Placed): boolean {
    const { switches } = this.setup.profile;
    return switches.includes('ack-while-repeating-lost') && !isAnswered(work) && this.#repeated.has(work.index);
  }

  /** What is left of a message of which it has forgotten that it was acknowledged: nothing, under the PSN behind it. */
  #isEmptyRepetition({ psn, opcode, payload, imm }: Packet): boolean {
    const work = this.#works.find(({ last }) => last === psn - 1);
    if (work === undefined || !this.#mayHaveLost(work) || (payload?.length ?? 0) > 0) return false;
    const empty = requestAt({ ...work, first: psn, last: psn }, psn, this.setup.mtu);
    return opcode === empty.opcode && imm === empty.imm;
  }

  /**
   * The oldest packet that is not acknowledged has been out for the interval, and it is from there that packets go out
   * again.
   */
  #mayTimeOut(psn: number, nowNs: number): boolean {
    if (psn > this.#may) return false;
    const out = Math.min(...[this.#must, this.#may].map((at) => this.#lastSent.get(at) ?? Infinity));
    return !this.setup.exactTime || nowNs - out >= this.setup.timeoutNs;
  }

  #completes(index: number, status: number): ModelDifference | undefined {
    const work = this.#works[index];
    if (work === undefined) return told('REQ-06', `work request ${index} completes, and was not posted`);
    const last = this.#completed.at(-1);
    if (last !== undefined && index <= last.index)
      return told('REQ-06', `work request ${index} completes after ${last.index}`);
    if (status !== 0) return this.#completesInError(index, status);
    if (this.failed) return told('REQ-19', `work request ${index} succeeds behind one that failed`);
    const unsignaled = !work.signaled;
    if (unsignaled) return told('REQ-33', `work request ${index} completes, and was not to`);
    return work.last < this.#may
      ? undefined
      : told(RULE_OF_KIND[work.kind], `work request ${index} completes without its answer`);
  }

  #completesInError(index: number, status: number): ModelDifference | undefined {
    if (this.failed) {
      return status === FLUSHED
        ? undefined
        : told('REQ-19', `work request ${index} fails with status ${status} behind one that failed`);
    }
    const exhausted = status === RETRY_EXCEEDED && this.#strikes >= this.setup.retryCnt;
    const explained = this.#failures.some(
      (one) => (one.index === -1 || one.index === index) && (one.status === -1 || one.status === status),
    );
    if (exhausted || explained) return undefined;
    const why = this.#failures.find(({ must }) => must);
    const wanted = why === undefined ? 'was not to fail' : `and ${why.index} was to fail with ${why.status}`;
    return told(
      why === undefined ? 'REQ-23' : 'REQ-18',
      `work request ${index} fails with status ${status}, ${wanted}`,
    );
  }
}

const told = (ruleId: string, sentence: string): ModelDifference => ({ ruleId, sentence });

const RULE_OF_KIND = {
  ...{ send: 'REQ-03', write: 'REQ-03', read: 'REQ-04' },
  ...{ 'fetch-add': 'REQ-05', 'compare-swap': 'REQ-05' },
} as const;
/** IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR. */
const FLUSHED = 5;
const RETRY_EXCEEDED = 12;
