/**
 * Holds what a responder sends against the model. It follows every way that the device may have taken (a hypothesis: a
 * state, and the replies that are still to come) and reports a difference when none is left, or when what must have
 * come has not.
 *
 * Owns the order of replies (ACK-05, RD-13, RSP-PSN-13), coalescing (ACK-01..ACK-03) and which plain ACKs make sense at
 * all.
 */
import { defined, Op } from 'rocev2/packets';
import { describePacket, type Packet } from 'rocev2/packets/kit';
import { type ModelDifference, TooManyWays } from './difference.ts';
import type { Profile } from './profiles.ts';
import { acknowledged, type Hypothesis, isPlainAck } from './responder-acknowledges.ts';
import { describeExpected, disagreement } from './responder-match.ts';
import { step } from './responder-model.ts';
import {
  type Delivered,
  freshState,
  type ModelOutcome,
  type ResponderSetup,
  type ResponderState,
} from './responder-state.ts';

export class ResponderJudge {
  readonly setup: ResponderSetup;
  #ways: readonly Hypothesis[];

  constructor(setup: ResponderSetup, memory: Uint8Array, receives: number) {
    this.setup = setup;
    this.#ways = [{ state: freshState(memory, receives), pending: [], owed: [], newestAck: -1 }];
  }

  /** The likeliest state: what a generator goes by. */
  get state(): ResponderState {
    return (this.#ways[0] ?? NO_WAY).state;
  }

  /** Whether all that must come has come, in one way at least. */
  get satisfied(): boolean {
    return this.#ways.some(isSettled);
  }

  /** Receives were posted. */
  posted(count: number): void {
    const posted = remembering((state: ResponderState) =>
      state.dead ? state : { ...state, receives: state.receives + count },
    );
    this.#ways = this.#ways.map((way) => ({ ...way, state: posted(way.state) }));
  }

  /** A packet was sent to the device. */
  sent(packet: Packet): void {
    const { setup } = this;
    const roomy = remembering((state: ResponderState) => step(setup, state, packet, 0));
    const crowded = remembering((state: ResponderState) => step(setup, state, packet, setup.maxDestRdAtomic));
    this.#ways = bounded(
      this.#ways.flatMap((way) => {
        const { pending, state } = way;
        const inProgress = new Set(pending.filter(({ again }) => !again).map(({ request }) => request)).size;
        const outcomes = inProgress < setup.maxDestRdAtomic ? roomy(state) : crowded(state);
        return outcomes.map((outcome) => after(way, outcome, packet));
      }),
    );
  }

  /** A packet of the device; undefined when it is in order. */
  received(packet: Packet): ModelDifference | undefined {
    if (packet.opcode === Op.Cnp) return undefined;
    const ways: Hypothesis[] = [];
    let why: ModelDifference | undefined;
    for (const way of this.#ways) {
      const next = follow(way, packet, this.setup.profile);
      if (Array.isArray(next)) ways.push(...next);
      else why ??= next;
    }
    if (ways.length === 0) return why ?? { ruleId: 'ACK-18', sentence: `${describePacket(packet)} came` };
    this.#ways = bounded(distinct(ways));
    return undefined;
  }

  /** The device has had all the time it needs: what must have come has come. */
  settled(): ModelDifference | undefined {
    const ways = this.#ways.filter(isSettled);
    if (ways.length === 0) return missing(this.#ways[0] ?? NO_WAY);
    // What may have come and did not will not.
    this.#ways = distinct(ways.map((way) => ({ ...way, pending: [] })));
    return undefined;
  }

  /** What the region holds at the end. */
  memory(bytes: Uint8Array): ModelDifference | undefined {
    const at = this.#ways.map(({ state }) => firstForeignByte(bytes, [state.memory, ...state.instead]));
    if (at.some((each) => each === undefined)) return undefined;
    const offset = at[0] ?? 0;
    const expected = this.state.memory[offset];
    return {
      ruleId: this.state.dead ? 'LEN-05' : 'RSP-PSN-10',
      sentence: `byte ${offset} of the region was to be ${expected}, and is ${bytes[offset]}`,
    };
  }

  /** What was put into receives by messages without fault, in order. */
  delivered(found: readonly Delivered[]): ModelDifference | undefined {
    const words = found.map(describeDelivered);
    const all = this.#ways.map(({ state }) => state.delivered.map(describeDelivered));
    if (all.some((one) => one.length === words.length && one.every((word, i) => word === words[i]))) return undefined;
    const expected = all[0] ?? [];
    const at = expected.findIndex((word, i) => word !== words[i]);
    const i = at < 0 ? expected.length : at;
    return {
      ruleId: words.length > expected.length ? 'RSP-PSN-10' : 'ACK-19',
      sentence: `receive ${i} was to complete with ${expected[i] ?? 'nothing'}, and did with ${words[i] ?? 'nothing'}`,
    };
  }
}

/** The same for the same state, so that equal hypotheses are merged. */
function remembering<T>(compute: (state: ResponderState) => T): (state: ResponderState) => T {
  const known = new Map<ResponderState, T>();
  return (state) => {
    const found = known.get(state);
    if (found !== undefined) return found;
    const made = compute(state);
    known.set(state, made);
    return made;
  };
}

function after(way: Hypothesis, outcome: ModelOutcome, request: Packet): Hypothesis {
  const { state } = outcome;
  const changed = state.memory !== way.state.memory;
  const { psn = 0 } = request;
  // What has not been read yet may be read as it is now (RD-12); a READ that is repeated need not be finished first.
  const pending = way.pending.map((item) => {
    const images = changed && item.images !== undefined ? [...item.images, state.memory] : item.images;
    const restarted = outcome.replies.some(
      (reply) => reply.again && reply.data !== undefined && reply.psn === item.psn,
    );
    if (images === item.images && !restarted) return item;
    return { ...item, ...defined({ images }), must: item.must && !restarted };
  });
  const queued = outcome.replies.map((reply) => ({ ...reply, request: psn, at: state.expected }));
  return {
    state,
    pending: [...pending, ...queued],
    owed: outcome.owed === undefined ? way.owed : [...way.owed, outcome.owed],
    newestAck: way.newestAck,
  };
}

function follow(way: Hypothesis, packet: Packet, profile: Profile): Hypothesis[] | ModelDifference {
  if (isPlainAck(packet)) {
    const next = acknowledged(way, packet, profile);
    return 'ruleId' in next ? next : [next];
  }
  const found: Hypothesis[] = [];
  let why: ModelDifference | undefined;
  // PSN of the earliest reply that must come and was passed over: only an answer to a duplicate from before it goes
  // first (RSP-PSN-13).
  let barrier = Infinity;
  for (const [i, item] of way.pending.entries()) {
    const inTurn = barrier === Infinity || (item.again && item.psn < barrier);
    const wrong = disagreement(item, packet, way.state.msn);
    if (inTurn && wrong === undefined) {
      found.push(taken(way, i, packet));
      if (item.must) break;
    } else if (item.must) {
      if (barrier === Infinity) why = wrong;
      barrier = Math.min(barrier, item.psn);
    }
    why ??= wrong;
  }
  return found.length > 0 ? found : (why ?? unexpected(way, packet));
}

/** `pending[i]` has come: what might have come before it will not, unless it was overtaken. */
function taken(way: Hypothesis, i: number, packet: Packet): Hypothesis {
  const item = way.pending[i];
  const pending = way.pending.filter((each, at) => at > i || (at < i && item?.again === true && item.psn < each.psn));
  const owed = way.owed.filter(({ psn }) => psn >= packet.psn);
  return { ...way, pending, owed };
}

function unexpected(way: Hypothesis, packet: Packet): ModelDifference {
  const sentence = `nothing was expected, and ${describePacket(packet)} came`;
  const syndrome = packet.syndrome ?? 0;
  if (way.state.dead) return { ruleId: 'ACK-18', sentence };
  if (packet.opcode === Op.Acknowledge && syndrome === 0x60) return { ruleId: gapRule(way.state), sentence };
  if (packet.opcode === Op.Acknowledge) return { ruleId: 'RSP-PSN-15', sentence };
  return { ruleId: packet.opcode === Op.AtomicAcknowledge ? 'RSP-PSN-17' : 'RSP-PSN-16', sentence };
}

/** The rule against a NAK 0x60 where there is no gap, or one that was NAKed already. */
function gapRule({ silent }: ResponderState): string {
  if (silent === undefined) return 'RSP-PSN-09';
  return silent === 'sequence' ? 'RSP-PSN-05' : 'RNR-06';
}

const isSettled = ({ pending, owed }: Hypothesis): boolean => owed.length === 0 && pending.every(({ must }) => !must);

function missing({ pending, owed }: Hypothesis): ModelDifference {
  const item = pending.find(({ must }) => must);
  if (item !== undefined)
    return { ruleId: item.ruleId, sentence: `${describeExpected(item)} was expected, and did not come` };
  const [debt] = owed;
  return {
    ruleId: debt?.ruleId ?? 'ACK-01',
    sentence: `an ACK of psn+${debt?.psn ?? 0} or of a later packet was expected, and did not come`,
  };
}

/** Hypotheses with equal state are one. */
function distinct(ways: readonly Hypothesis[]): Hypothesis[] {
  const seen = new Map<string, Hypothesis>();
  const states: ResponderState[] = [];
  for (const way of ways) {
    if (!states.includes(way.state)) states.push(way.state);
    const items = way.pending.map(({ psn, must, again, request }) => `${psn}/${must}/${again}/${request}`).join();
    const key = `${states.indexOf(way.state)} ${way.newestAck} ${way.owed.map(({ psn }) => psn).join()} ${items}`;
    if (!seen.has(key)) seen.set(key, way);
  }
  return [...seen.values()];
}

function bounded(ways: readonly Hypothesis[]): readonly Hypothesis[] {
  if (ways.length > MAX_WAYS) throw new TooManyWays(`more than ${MAX_WAYS} ways to explain what the device sent`);
  return ways;
}

function firstForeignByte(bytes: Uint8Array, images: readonly Uint8Array[]): number | undefined {
  const at = bytes.findIndex((byte, i) => images.every((image) => image[i] !== byte));
  return at < 0 ? undefined : at;
}

function describeDelivered({ length, imm, data }: Delivered): string {
  const hex = data === undefined ? '' : ` ${Array.from(data.subarray(0, 8), (byte) => byte.toString(16)).join(' ')}`;
  const sum = data === undefined ? '' : ` sum ${data.reduce((a, byte, i) => (a + byte * (i + 1)) % 65_521, 0)}`;
  return `${length} bytes${imm === undefined ? '' : ` imm 0x${imm.toString(16)}`}${hex}${sum}`;
}

const MAX_WAYS = 256;
const NO_WAY: Hypothesis = { state: freshState(new Uint8Array(0), 0), pending: [], owed: [], newestAck: -1 };
