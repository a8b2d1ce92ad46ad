/**
 * Plays plans to a requester: answers right and wrong (`tryAnswers`), and an honest peer behind a bad wire (`tryLoss`).
 */
import { Op } from 'rocev2/packets';
import { ack, atomicAck, nak, type Packet, pattern, rnrNak } from 'rocev2/packets/kit';
import type { ModelDifference } from '../model/difference.ts';
import { isAnswered, type Placed } from '../model/requester-work.ts';
import { ModelResponder } from './model-responder.ts';
import type { AnswerStep, AnswersPlan, LossPlan } from './requester-plans.ts';
import { REMOTE, RequesterTestbed } from './requester-stage.ts';
import { TRIAL_MTU } from './responder-trial.ts';
import type { TrialContext } from './stage.ts';
import type { Trial } from './trial.ts';

export function tryAnswers(stage: TrialContext, plan: AnswersPlan): Promise<Trial> {
  return RequesterTestbed.play(stage, plan, (one) => new Answers(one).all(plan));
}

class Answers {
  readonly #one: RequesterTestbed;
  /** READs and atomics: where they were asked from last, and the next response. */
  readonly #asked = new Map<number, { readonly start: number; next: number }>();
  /** What came although it was answered before: the device took no notice of that answer. */
  #unheard: number[] = [];

  constructor(one: RequesterTestbed) {
    this.#one = one;
  }

  async all({ works, steps }: AnswersPlan): Promise<ModelDifference | undefined> {
    for (const work of works) await this.#one.post(work);
    let difference = await this.#settle();
    for (const step of steps) {
      if (difference !== undefined || this.#over) return difference ?? this.#finished();
      await this.#play(step);
      difference = await this.#settle();
      if (step.do !== 'not-ready' || difference !== undefined) continue;
      await this.#one.wait(RNR_WAIT_NS);
      difference = await this.#settle();
    }
    return difference ?? this.#finish();
  }

  get #over(): boolean {
    return this.#one.judge.failing || this.#one.judge.over;
  }

  async #play(step: AnswerStep): Promise<void> {
    const one = this.#one;
    const { acknowledged: from, newest } = one.judge;
    const within = (ahead: number): number => from + (ahead % Math.max(1, newest - from + 1));
    const open = newest >= from;
    if (step.do === 'post') await one.post(step.work);
    else if (step.do === 'wait') await one.wait(one.timeoutNs * 1.2);
    else if (step.do === 'serve') this.#serve(step.count, step.each);
    else if (step.do === 'ghost') this.#ghost(step.back, step.response);
    else if (step.do === 'beyond') one.answer(ack({ psn: this.#neverSent(step.ahead), msn: this.#msn(newest) }));
    else if (step.do === 'gap') this.#gap();
    else if (!open) return;
    else if (step.do === 'missing') one.answer(nak(0x60, { psn: within(step.ahead), msn: this.#msn(from - 1) }));
    else if (step.do === 'not-ready')
      one.answer(rnrNak(step.code, { psn: within(step.ahead), msn: this.#msn(from - 1) }));
    else if (step.do === 'overtake') this.#acknowledge(newest);
    else if (step.do === 'inside') this.#acknowledge(within(step.ahead));
    else if (step.do === 'reserved') one.answer(nak(step.syndrome, { psn: newest, msn: this.#msn(from - 1) }));
    else one.answer(nak(step.code, { psn: within(step.ahead), msn: this.#msn(from - 1) }));
  }

  /** Whatever is open there; not for a device that is known to be led astray for good by it. */
  #acknowledge(psn: number): void {
    const { judge, stage } = this.#one;
    const work = this.#at(psn);
    const astray = stage.profile.switches.includes('ack-in-read-completes') && work !== undefined && isAnswered(work);
    if (!astray) this.#one.answer(ack({ psn, msn: this.#msn(Math.max(psn, judge.acknowledged - 1)) }));
  }

  /** In real time more may be on its way than was seen. */
  #neverSent(ahead: number): number {
    const { newest, works } = this.#one.judge;
    return (this.#one.stage.subject.virtual ? newest : (works.at(-1)?.last ?? -1)) + 1 + ahead;
  }

  /** Right answers to what is open, from the oldest on. @returns whether there was anything to say */
  #serve(count: number, each: boolean): boolean {
    const { judge } = this.#one;
    const { acknowledged: from, newest } = judge;
    let owed = -1;
    let said = false;
    const settle = (): void => {
      if (owed >= 0) this.#one.answer(ack({ psn: owed, msn: this.#msn(owed) }));
      said ||= owed >= 0;
      owed = -1;
    };
    for (let psn = from; psn <= Math.min(newest, from + count - 1); psn++) {
      const work = this.#at(psn);
      if (work === undefined) break;
      if (!isAnswered(work)) {
        owed = psn;
        if (each) settle();
        continue;
      }
      if (!this.#respondTo(work, psn)) break;
      owed = -1;
      said = true;
    }
    settle();
    return said;
  }

  /** Responses up to `psn`; false when the device has to ask again first. */
  #respondTo(work: Placed, psn: number): boolean {
    const asked = this.#asked.get(work.index);
    if (asked === undefined || asked.next > psn) return false;
    for (; asked.next <= psn; asked.next++) this.#one.answer(this.#response(work, asked.next, asked.start));
    return true;
  }

  #response(work: Placed, psn: number, start: number): Packet {
    const msn = work.index + 1;
    if (work.kind !== 'read') {
      const original = BigInt(work.index) * 0x0101_0101_0101n + 7n;
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setBigUint64(0, original, true);
      this.#one.answeredWith(work.index, 0, bytes);
      return atomicAck({ psn, msn, original });
    }
    const skipped = (psn - work.first) * TRIAL_MTU;
    const at = Number(work.va - REMOTE.va) + skipped;
    const payload = REMOTE.bytes.slice(at, at + Math.min(TRIAL_MTU, work.data.length - skipped));
    this.#one.answeredWith(work.index, skipped, payload);
    return { ...responseAt(psn === start, psn === work.last), psn, msn, syndrome: 0x1f, payload };
  }

  #ghost(back: number, response: boolean): void {
    const psn = this.#one.judge.acknowledged - back;
    const work = this.#at(psn);
    const msn = this.#msn(psn);
    if (!response || work === undefined || !isAnswered(work)) this.#one.answer(ack({ psn, msn }));
    else if (work.kind !== 'read') this.#one.answer(atomicAck({ psn, msn, original: 0xdeadn }));
    else {
      const length = Math.min(TRIAL_MTU, work.data.length - (psn - work.first) * TRIAL_MTU);
      const opcode = responseAt(psn === work.first, psn === work.last);
      this.#one.answer({ ...opcode, psn, msn, syndrome: 0x1f, payload: pattern(length, 99) });
    }
  }

  /** The response that is due gets lost; those behind it come. */
  #gap(): void {
    const { acknowledged: from, newest } = this.#one.judge;
    const work = this.#at(from);
    const asked = work === undefined ? undefined : this.#asked.get(work.index);
    if (work?.kind !== 'read' || asked?.next !== from || from === work.last || from > newest) return;
    asked.next = from + 1;
    const skipped = (from - work.first) * TRIAL_MTU;
    // What is lost now comes later, and it is the same.
    this.#one.answeredWith(work.index, skipped, this.#response(work, from, asked.start).payload ?? new Uint8Array(0));
    this.#respondTo(work, work.last);
  }

  readonly #at = (psn: number): Placed | undefined =>
    this.#one.judge.works.find(({ first, last }) => psn >= first && psn <= last);

  /** Messages completed when all up to `psn` has been executed. */
  #msn(psn: number): number {
    return this.#one.judge.works.filter(({ last }) => last <= psn).length;
  }

  /** Takes what comes until it is quiet. */
  async #settle(): Promise<ModelDifference | undefined> {
    for (;;) {
      const next = await this.#one.next();
      if (next === undefined) return this.#one.settled();
      if (next.difference !== undefined) return next.difference;
      const { psn } = next.packet;
      const work = this.#at(psn);
      if (psn < this.#one.judge.acknowledged) this.#unheard.push(psn);
      if (work !== undefined && isAnswered(work)) this.#asked.set(work.index, { start: psn, next: psn });
    }
  }

  /** From here on everything is answered as it should be: all has to complete. */
  async #finish(): Promise<ModelDifference | undefined> {
    const { judge, timeoutNs } = this.#one;
    for (let round = 0; round < MAX_ROUNDS && !(judge.done && judge.complete) && !this.#over; round++) {
      if (!this.#repeat() && !this.#serve(1000, false)) await this.#one.wait(timeoutNs * 1.2);
      const difference = await this.#settle();
      if (difference !== undefined) return difference;
    }
    if (!judge.done && !this.#over && this.#one.stage.subject.virtual)
      return { ruleId: 'REQ-21', sentence: `psn+${judge.acknowledged} is not acknowledged, and is not sent again` };
    return judge.done || this.#over ? this.#finished() : undefined;
  }

  #finished(): Promise<ModelDifference | undefined> {
    return this.#one.finished(() => {
      if (!this.#over) this.#repeat();
      return this.#settle();
    });
  }

  /** Repeats the answers that were lost. @returns whether there were any */
  #repeat(): boolean {
    const unheard = this.#unheard;
    this.#unheard = [];
    for (const psn of unheard) {
      const work = this.#at(psn);
      if (work === undefined || !isAnswered(work)) this.#one.answer(ack({ psn, msn: this.#msn(psn) }));
      else this.#respondTo(work, work.last);
    }
    return unheard.length > 0;
  }
}

const responseAt = (first: boolean, last: boolean): { readonly opcode: number } => ({
  opcode: first
    ? last
      ? Op.ReadResponseOnly
      : Op.ReadResponseFirst
    : last
      ? Op.ReadResponseLast
      : Op.ReadResponseMiddle,
});

export function tryLoss(stage: TrialContext, plan: LossPlan): Promise<Trial> {
  return RequesterTestbed.play(stage, plan, (one) => behindABadWire(one, plan));
}

async function behindABadWire(one: RequesterTestbed, plan: LossPlan): Promise<ModelDifference | undefined> {
  const { works, lostRequests, lostAnswers, doubledAnswers, lateAnswers } = plan;
  const peer = new ModelResponder();
  const { happenings } = one.stage;
  let requests = 0;
  let answers = 0;
  let held: Packet | undefined;
  const take = async (): Promise<ModelDifference | undefined> => {
    for (let next = await one.next(); next !== undefined; next = await one.next()) {
      if (next.difference !== undefined) return next.difference;
      if (lostRequests.includes(requests++)) happenings.push({ at: 'do', what: 'this one is lost' });
      else for (const reply of peer.take(next.packet)) deliver(reply);
    }
    return undefined;
  };
  const deliver = (packet: Packet): void => {
    const i = answers++;
    if (lostAnswers.includes(i)) {
      happenings.push({ at: 'do', what: 'the next answer is lost' });
      return;
    }
    if (lateAnswers.includes(i) && held === undefined) {
      held = packet;
      return;
    }
    one.answer(packet);
    if (doubledAnswers.includes(i)) one.answer(packet);
    if (held !== undefined) one.answer(held);
    held = undefined;
  };
  for (const work of works) await one.post(work);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const early = await take();
    if (early !== undefined) return early;
    if (held !== undefined) {
      one.answer(held);
      held = undefined;
      continue;
    }
    const difference = await one.settled();
    if (difference !== undefined) return difference;
    if (one.judge.over || (one.judge.done && one.judge.complete)) break;
    await one.wait(one.timeoutNs * 1.1);
  }
  for (const work of one.judge.works)
    if (isAnswered(work)) one.answeredWith(work.index, 0, peer.answerTo(work.first) ?? new Uint8Array(0));
  if (!one.judge.done && !one.judge.over)
    return one.stage.subject.virtual
      ? { ruleId: 'REQ-21', sentence: 'packets that were lost are not sent again' }
      : undefined;
  return one.finished(take);
}

const MAX_ROUNDS = 40;
/** Longer than code 5 of RNR NAKs, 60 us. */
const RNR_WAIT_NS = 1e6;
