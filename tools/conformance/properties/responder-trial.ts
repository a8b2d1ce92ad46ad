/**
 * Plays a plan to a responder and judges it: a fresh queue pair, the steps, then the sentinel (the queue pair is well
 * and expects what the model expects), then memory and receives. What a slow device leaves open is inconclusive, never
 * a difference.
 */

import { defined } from 'rocev2/packets';
import { type Packet, pattern } from 'rocev2/packets/kit';
import type { ModelDifference } from '../model/difference.ts';
import { TooManyWays } from '../model/difference.ts';
import { ResponderJudge } from '../model/responder-judge.ts';
import type { ResponderSetup } from '../model/responder-state.ts';
import { packetOf, readBack, sentinel } from './responder-packets.ts';
import type { ResponderPlan } from './responder-steps.ts';
import type { TrialContext } from './stage.ts';
import type { Subject, SubjectConnection, SubjectConnectionOptions } from './subject.ts';
import type { Trial, TrialEvent } from './trial.ts';

/** Path MTU of every property: messages of several packets are small. */
export const TRIAL_MTU = 256;
const REGION_BYTES = 1024;
const RECEIVE_BYTES = 600;
const RNR_TIMER = 12;

export async function tryResponder(
  { subject, profile, happenings }: TrialContext,
  plan: ResponderPlan,
): Promise<Trial> {
  const { psn, receives, maxDestRdAtomic, access } = plan;
  const memory = pattern(REGION_BYTES, 9);
  const options: SubjectConnectionOptions = {
    ...{ psn, dutPsn: 0x10, mtu: TRIAL_MTU, memory, access, receives, receiveBytes: RECEIVE_BYTES, maxDestRdAtomic },
    ...{ rnrTimer: RNR_TIMER, maxRdAtomic: 4, timeout: 14, retryCnt: 3, rnrRetry: 3, localBytes: 8 },
  };
  const connection = await subject.fresh(options);
  try {
    const setup: ResponderSetup = {
      ...{ profile, mtu: TRIAL_MTU, region: connection.region, access, receiveBytes: RECEIVE_BYTES, maxDestRdAtomic },
      ...{ rnrTimer: RNR_TIMER, flush: subject.flush, atomicWrite: subject.atomicWrite },
    };
    const judge = new ResponderJudge(setup, memory, receives);
    const trial = await new Play(subject, connection, judge, happenings).all(plan);
    const like = {
      psn,
      mtu: TRIAL_MTU,
      receives,
      receiveBytes: RECEIVE_BYTES,
      maxDestRdAtomic,
      minRnrTimer: RNR_TIMER,
    };
    return { ...trial, connection: { options: { ...like, regionBytes: REGION_BYTES }, region: connection.region } };
  } finally {
    await connection.close();
  }
}

class Play {
  readonly #subject: Subject;
  readonly #connection: SubjectConnection;
  readonly #judge: ResponderJudge;
  readonly #happenings: TrialEvent[];
  #unsent: Packet[] = [];
  #afterDeath = 0;

  constructor(subject: Subject, connection: SubjectConnection, judge: ResponderJudge, happenings: TrialEvent[]) {
    this.#happenings = happenings;
    this.#subject = subject;
    this.#connection = connection;
    this.#judge = judge;
  }

  async all(plan: ResponderPlan): Promise<Trial> {
    try {
      const difference = (await this.#steps(plan)) ?? (await this.#proof()) ?? (await this.#traces());
      return { happenings: this.#happenings, ...defined({ difference }) };
    } catch (error) {
      if (error instanceof TooManyWays || error instanceof Silence)
        return { happenings: this.#happenings, inconclusive: error.message };
      throw error;
    }
  }

  async #steps({ steps }: ResponderPlan): Promise<ModelDifference | undefined> {
    const judge = this.#judge;
    for (const step of steps) {
      if (judge.state.dead && this.#unsent.length === 0 && judge.satisfied) this.#afterDeath++;
      if (this.#afterDeath > AFTER_DEATH) return undefined;
      if (step.do === 'post') {
        const difference = await this.#settle(false);
        if (difference !== undefined) return difference;
        await this.#connection.postReceives(step.count);
        judge.posted(step.count);
        this.#happenings.push({ at: 'do', what: `post ${step.count} receives` });
        continue;
      }
      const packet = packetOf(step, judge.setup, judge.state);
      if (packet === undefined) continue;
      this.#queue(packet);
      const difference = step.wait ? await this.#settle(false) : undefined;
      if (difference !== undefined) return difference;
    }
    return this.#settle(false);
  }

  /** The sentinel; and all of memory, as a READ shows it. */
  async #proof(): Promise<ModelDifference | undefined> {
    const judge = this.#judge;
    const { setup } = judge;
    if (!judge.state.dead) {
      for (const packet of sentinel(setup, judge.state)) this.#queue(packet);
      if (setup.access.read && !judge.state.dead && judge.state.silent === undefined)
        this.#queue(readBack(setup, judge.state));
    }
    return this.#settle(true);
  }

  /** What only an agent on the device's host can see. */
  async #traces(): Promise<ModelDifference | undefined> {
    const judge = this.#judge;
    if (!this.#subject.hostControl) return undefined;
    const delivered = await this.#connection.delivered(judge.state.delivered.length);
    const difference = judge.delivered(delivered);
    if (difference !== undefined) return difference;
    const seen = !judge.state.dead && judge.setup.access.read;
    return seen ? undefined : judge.memory(await this.#connection.memory());
  }

  #queue(packet: Packet): void {
    this.#judge.sent(packet);
    this.#unsent.push(packet);
    this.#happenings.push({ at: 'tx', packet });
  }

  /** Sends what waits, and takes the answers until all that must come is there. */
  async #settle(last: boolean): Promise<ModelDifference | undefined> {
    const judge = this.#judge;
    const { virtual, patienceNs, lingerNs } = this.#subject;
    this.#connection.send(this.#unsent);
    this.#unsent = [];
    for (;;) {
      const lingering = judge.satisfied;
      const packet = await this.#connection.next(lingering ? (last || virtual ? lingerNs : 0) : patienceNs);
      if (packet === undefined) break;
      this.#happenings.push({ at: 'rx', packet });
      const difference = judge.received(packet);
      if (difference !== undefined) return difference;
    }
    if (virtual) return judge.settled();
    if (!last) return undefined;
    // In real time what is missing may be late: the sentinel's answer would have come after it, and does not.
    if (!judge.satisfied) throw new Silence(`the sentinel was not answered within ${patienceNs / 1e6} ms`);
    return judge.settled();
  }
}

class Silence extends Error {}

/** Packets sent to a queue pair that is dead: enough to see that it is. */
const AFTER_DEATH = 3;
