/**
 * One try with the device as requester: what is common to all of them. Owns the memory at both ends, what is written
 * down, and the end of a try: everything that was posted has to complete, with the right data.
 */

import { defined } from 'rocev2/packets';
import { type Packet, pattern } from 'rocev2/packets/kit';
import type { ModelDifference } from '../model/difference.ts';
import { RequesterJudge } from '../model/requester-judge.ts';
import { isAnswered, type Placed, type WorkRequest } from '../model/requester-work.ts';
import { MAX_WORKS, type WorkSpec } from './requester-plans.ts';
import { TRIAL_MTU } from './responder-trial.ts';
import type { TrialContext } from './stage.ts';
import type { SubjectConnection, SubjectConnectionOptions } from './subject.ts';
import type { Trial } from './trial.ts';

/** What the tester's memory holds for the device. */
export const REMOTE = { va: 0x10_0000n, rkey: 0x77, bytes: pattern(2048, 3) };
/** READs are of what no WRITE reaches, so that a READ that is repeated brings the same. */
const READ_AT = 1024;
const SOURCE_BYTES = 1024;
const SLOT_BYTES = 832;
const RETRY_CNT = 7;

export class RequesterTestbed {
  readonly connection: SubjectConnection;
  readonly judge: RequesterJudge;
  readonly stage: TrialContext;
  /** Of the device's ACK timer. */
  readonly timeoutNs: number;
  readonly #source = pattern(SOURCE_BYTES, 5);
  /** What each READ and atomic has to have brought: as the tester answered. */
  readonly #answers = new Map<number, Uint8Array>();

  private constructor(stage: TrialContext, connection: SubjectConnection, judge: RequesterJudge) {
    this.stage = stage;
    this.connection = connection;
    this.judge = judge;
    this.timeoutNs = judge.setup.timeoutNs;
  }

  /** Connects, plays, and lets go. */
  static async play(
    stage: TrialContext,
    plan: { readonly psn: number; readonly maxRdAtomic: number },
    play: (one: RequesterTestbed) => Promise<ModelDifference | undefined>,
  ): Promise<Trial> {
    const { subject, profile, happenings } = stage;
    const timeout = subject.virtual ? TIMEOUT : LIVE_TIMEOUT;
    const { psn, maxRdAtomic } = plan;
    const options: SubjectConnectionOptions = {
      ...{
        psn: 0x20,
        dutPsn: psn,
        mtu: TRIAL_MTU,
        memory: new Uint8Array(64),
        access: { read: true, write: true, atomic: true },
      },
      ...{ receives: 0, receiveBytes: 64, maxDestRdAtomic: 4, rnrTimer: 12, maxRdAtomic, timeout },
      ...{ retryCnt: RETRY_CNT, rnrRetry: 7, localBytes: SOURCE_BYTES + MAX_WORKS * SLOT_BYTES },
    };
    const connection = await subject.fresh(options);
    try {
      const timeoutNs = 4096 * 2 ** timeout;
      const setup = {
        profile,
        mtu: TRIAL_MTU,
        maxRdAtomic,
        timeoutNs,
        retryCnt: RETRY_CNT,
        exactTime: subject.virtual,
      };
      const one = new RequesterTestbed(stage, connection, new RequesterJudge(setup));
      await connection.setLocal(0, one.#source);
      const difference = await play(one);
      if (difference !== undefined) return { happenings, difference };
      const { done, over, strayed: astray } = one.judge;
      const left = done || over ? undefined : 'the device did not get done in time';
      return { happenings, astray, ...defined({ inconclusive: left }) };
    } finally {
      await connection.close();
    }
  }

  /** Posts work; nothing when the connection has had its share. */
  async post(spec: WorkSpec): Promise<void> {
    const { judge } = this;
    const index = judge.works.length;
    if (index >= MAX_WORKS) return;
    const work = judge.posted(workOf(spec, this.#source));
    const answered = isAnswered(work);
    const atomic = answered && work.kind !== 'read';
    const length = atomic ? 8 : work.data.length;
    this.stage.happenings.push({
      at: 'do',
      what: `post ${index} ${work.kind} ${length} bytes psn+${work.first}${flagsOf(work)}`,
    });
    await this.connection.post({
      wrId: index,
      opcode: opcodeOf(work),
      offset: answered ? this.#slot(index) : spec.at,
      length,
      signaled: work.signaled,
      fence: work.fence,
      ...(work.kind === 'send' ? {} : { remoteAddr: work.va, rkey: work.rkey }),
      ...defined({ imm: work.imm }),
      ...(work.kind === 'fetch-add' ? { compareAdd: work.swapAdd } : {}),
      ...(work.kind === 'compare-swap' ? { compareAdd: work.compare, swap: work.swapAdd } : {}),
    });
  }

  /** Sends an answer. */
  answer(packet: Packet): void {
    this.stage.happenings.push({ at: 'tx', packet });
    this.judge.answered(packet, this.connection.now());
    this.connection.send([packet]);
  }

  /** The next packet of the device, judged; undefined when it is quiet. */
  async next(
    withinNs = this.stage.subject.lingerNs,
  ): Promise<{ readonly packet: Packet; readonly difference: ModelDifference | undefined } | undefined> {
    const packet = await this.connection.next(withinNs);
    if (packet === undefined) return undefined;
    this.stage.happenings.push({ at: 'rx', packet });
    return { packet, difference: this.judge.received(packet, this.connection.now()) };
  }

  /** Lets time pass. */
  async wait(durationNs: number): Promise<void> {
    this.stage.happenings.push({ at: 'do', what: `wait ${durationNs / 1e6} ms` });
    await this.connection.sleep(durationNs);
    this.judge.waited(this.connection.now());
  }

  /** Completions so far. Without timers nothing more would come: in virtual time what must be there is there. */
  async settled(): Promise<ModelDifference | undefined> {
    const completions = await this.connection.completions();
    for (const { wrId, status } of completions)
      this.stage.happenings.push({ at: 'do', what: `work request ${wrId} completes with status ${status}` });
    const difference = this.judge.completed(completions);
    return difference ?? (this.stage.subject.virtual ? this.judge.settled() : undefined);
  }

  /** What this work request is to find: kept as the tester answers. */
  answeredWith(index: number, offset: number, bytes: Uint8Array): void {
    const known = this.#answers.get(index) ?? new Uint8Array(SLOT_BYTES);
    known.set(bytes, offset);
    this.#answers.set(index, known);
  }

  /**
   * All is done, or has failed: completions, and what READs and atomics brought. A device that was about to send again
   * when it was answered may have taken no notice: `goOn` takes what still comes of it, and answers that.
   */
  async finished(goOn: () => Promise<ModelDifference | undefined>): Promise<ModelDifference | undefined> {
    const { virtual, patienceNs } = this.stage.subject;
    const deadline = this.connection.now() + patienceNs;
    for (;;) {
      const difference = await this.settled();
      if (difference !== undefined) return difference;
      const final = this.connection.now() > deadline;
      const open =
        (virtual ? undefined : this.judge.settled(final)) ?? (this.judge.over ? undefined : await this.#data());
      if (open === undefined || virtual || final) return open;
      await this.connection.sleep(POLL_NS);
      const late = await goOn();
      if (late !== undefined) return late;
    }
  }

  async #data(): Promise<ModelDifference | undefined> {
    if (this.#answers.size === 0) return undefined;
    const local = await this.connection.local();
    for (const [index, wanted] of this.#answers) {
      if (this.judge.unproven.has(index)) continue;
      const { kind = 'read' } = this.judge.works[index] ?? {};
      const at = this.#slot(index);
      const wrong = wanted.findIndex((byte, i) => local[at + i] !== byte);
      if (wrong < 0) continue;
      const sentence = `byte ${wrong} of work request ${index} was to be ${wanted[wrong]}, and is ${local[at + wrong]}`;
      return {
        ruleId:
          kind === 'read' ? (wrong >= (this.judge.works[index]?.data.length ?? 0) ? 'LEN-17' : 'REQ-36') : 'REQ-05',
        sentence,
      };
    }
    return undefined;
  }

  readonly #slot = (index: number): number => SOURCE_BYTES + index * SLOT_BYTES;
}

function workOf({ kind, length, at, imm, signaled, fence, value }: WorkSpec, source: Uint8Array): WorkRequest {
  const carries = kind === 'send' || kind === 'write';
  const aligned = kind === 'read' ? READ_AT + at : carries ? at : at & ~7;
  return {
    ...{ kind, signaled, fence, rkey: REMOTE.rkey, va: REMOTE.va + BigInt(aligned) },
    data: source.slice(at, at + length),
    imm: carries && imm ? 0x100 + value : undefined,
    ...{ swapAdd: BigInt(value + 1), compare: BigInt(value >> 1) },
  };
}

const opcodeOf = ({ kind, imm }: Placed) =>
  kind === 'compare-swap' ? 'cmp-swap' : imm === undefined ? kind : kind === 'send' ? 'send-imm' : 'write-imm';

const flagsOf = ({ signaled, fence }: Placed): string => `${signaled ? '' : ' unsignaled'}${fence ? ' fence' : ''}`;

/** 67 ms: where time is not virtual, a slow device must not repeat what is being answered. */
const TIMEOUT = 14;
const LIVE_TIMEOUT = 14;
const POLL_NS = 200e3;
