/**
 * Compiles rules: checks every field once, then matches frames without string comparisons.
 *
 * Owns the checks, the opcode masks, and the counts of one rule at work. Never touches a frame: `path.ts` carries the
 * rules out.
 */

import { aethSyndrome, SYNDROME_KIND_MASK, SyndromeKind } from '../../packets/aeth.ts';
import { RoceError } from '../../packets/errors.ts';
import type { Frame } from '../../packets/frame.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { AETH_AT, OPCODES, type OpcodeInfo, OpFlag } from '../../packets/opcode.ts';
import { Prng } from '../ground/prng.ts';
import { FIELD_NAMES, rewritableField } from './fields.ts';
import {
  FAULT_ACTIONS,
  FAULT_DIRECTIONS,
  type FaultAction,
  OPCODE_GROUPS,
  type OpcodeGroup,
  type WireCondition,
  type WireRule,
} from './rule.ts';

/** What is known of a frame beside its bytes, when it is matched. `ConnectionTracker` fills it. */
export interface MatchContext {
  /** From 1; 0 when it belongs to none that is known. */
  readonly connection: number;
  /** -1 when not known. */
  readonly sourceQpn: number;
  /** NaN when there is none. */
  readonly relativePsn: number;
  /** 0 when there is none. */
  readonly iteration: number;
}

/**
 * Checks rules and makes matchers of them.
 *
 * @param seed of every decision by chance; a rule's decisions depend on the seed and its place, not on other rules
 * @throws RoceError ERR_ROCE_ARGUMENT naming the rule and the field
 */
export function compileRules(rules: readonly WireRule[], seed = 1): CompiledRule[] {
  const random = new Prng(seed).fork('rules');
  return rules.map((rule, index) => new CompiledRule(rule, index, random.fork(String(index))));
}

/** A compiled rule. The counts show whether it ever applied. */
export class CompiledRule {
  /** The rule as it was given. */
  readonly rule: WireRule;
  /** Its place in the list, from 0. */
  readonly index: number;
  /** Its name; default its place in the list, 'rule 1'. */
  readonly name: string;
  /** What it does. */
  readonly action: FaultAction;
  /** For 'rewrite': names of the fields. */
  readonly fields: readonly string[];
  /** Frames for which all conditions held, `nth`, `every` and `probability` left aside. */
  matches = 0;
  /** Frames to which the action was done. */
  applied = 0;
  /** Frames to which the action could not be done: no ECN-capable packet, no such field, no such bit. */
  impossible = 0;
  /** For draws that carrying the rule out needs. @internal */
  readonly random: Prng;

  readonly #direction: number;
  readonly #opcodes: OpcodeMask;
  readonly #qpn: number;
  readonly #sourceQpn: number;
  readonly #psn: Range;
  readonly #iteration: number;
  readonly #connection: number;
  readonly #nth: Range;
  readonly #every: number;
  readonly #probability: number;
  readonly #times: number;

  constructor(rule: WireRule, index: number, random: Prng) {
    this.rule = rule;
    this.index = index;
    this.name = rule.name ?? `rule ${index + 1}`;
    this.random = random;
    const { on } = rule;
    const check = new RuleCheck(rule.name === undefined ? `rule ${index + 1}` : `rule ${index + 1} (${rule.name})`);
    check.oneOf('do', rule.do, FAULT_ACTIONS);
    this.action = rule.do;
    if (on.direction !== undefined) check.oneOf('on.direction', on.direction, FAULT_DIRECTIONS);
    this.#direction = on.direction === undefined ? -1 : FAULT_DIRECTIONS.indexOf(on.direction);
    this.#opcodes = new OpcodeMask(on.opcode, check);
    this.#qpn = check.integer('on.qpn', on.qpn, 0, 0xff_ff_ff) ?? -1;
    this.#sourceQpn = check.integer('on.sourceQpn', on.sourceQpn, 0, 0xff_ff_ff) ?? -1;
    this.#psn = check.range('on.psn', on.psn, -0x80_00_00);
    this.#iteration = check.integer('on.iteration', on.iteration, 1) ?? 0;
    this.#connection = check.integer('on.connection', on.connection, 1) ?? 0;
    this.#nth = check.range('on.nth', on.nth, 1);
    this.#every = check.integer('on.every', on.every, 1) ?? 1;
    this.#probability = check.share('on.probability', on.probability) ?? 1;
    this.#times = check.integer('times', rule.times, 1) ?? Infinity;
    check.action(rule);
    this.fields = Object.keys(rule.set ?? {});
  }

  /**
   * Whether the rule applies to this frame now; counts the match.
   *
   * @param direction index in `FAULT_DIRECTIONS`
   *
   * @internal
   */
  strikes(frame: Frame, direction: number, facts: MatchContext): boolean {
    if (!this.#holds(frame, direction, facts)) return false;
    const match = ++this.matches;
    if (match < this.#nth.first || match > this.#nth.last || match % this.#every !== 0) return false;
    return this.applied < this.#times && this.random.chance(this.#probability);
  }

  #holds(frame: Frame, direction: number, facts: MatchContext): boolean {
    if (this.#direction >= 0 && this.#direction !== direction) return false;
    if (!this.#opcodes.has(frame)) return false;
    if (this.#qpn >= 0 && (frame.bthOffset < 0 || frame.destQpn !== this.#qpn)) return false;
    if (this.#sourceQpn >= 0 && facts.sourceQpn !== this.#sourceQpn) return false;
    if (this.#connection > 0 && facts.connection !== this.#connection) return false;
    if (this.#iteration > 0 && facts.iteration !== this.#iteration) return false;
    // Written so that NaN, a frame without a relative PSN, matches an unbounded range only.
    const { first, last } = this.#psn;
    return first === -Infinity || (facts.relativePsn >= first && facts.relativePsn <= last);
  }
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** Which opcodes, and for some of them which kind of packet. */
class OpcodeMask {
  /** Bits of `Kind` by opcode: the frame must be one of those kinds. */
  readonly #kinds = new Uint8Array(256);
  #any = false;

  constructor(names: WireCondition['opcode'], check: RuleCheck) {
    const list = typeof names === 'string' ? [names] : (names ?? ['roce']);
    if (list.length === 0) throw check.error('on.opcode', 'is empty');
    for (const name of list) this.#add(name, check);
  }

  has(frame: Frame): boolean {
    if (this.#any) return true;
    return frame.bthOffset >= 0 && ((this.#kinds[frame.opcode] ?? 0) & kindOf(frame)) !== 0;
  }

  #add(name: string, check: RuleCheck): void {
    if (name === 'any') {
      this.#any = true;
      return;
    }
    const group = OPCODE_GROUPS.find((known) => known === name);
    const wanted = name.toLowerCase();
    const members = OPCODES.filter((info) =>
      group === undefined ? info.known && info.name.toLowerCase() === wanted : inGroup(group, info),
    );
    if (members.length === 0) {
      const hint = `a group (${OPCODE_GROUPS.join(', ')}) or the name of an opcode, such as "RC RDMA WRITE Middle"`;
      throw check.error('on.opcode', `is ${JSON.stringify(name)}; it must be ${hint}`);
    }
    const kinds = (group === undefined ? undefined : GROUP_KINDS[group]) ?? Kind.Every;
    for (const { code } of members) this.#kinds[code] = (this.#kinds[code] ?? 0) | kinds;
  }
}

function inGroup(group: OpcodeGroup, { flags }: OpcodeInfo): boolean {
  if (group === 'roce') return true;
  const wanted = GROUP_FLAGS[group];
  return wanted !== undefined && (flags & wanted) !== 0;
}

function kindOf(frame: Frame): number {
  if (isMad(frame)) return Kind.Mad;
  const at = AETH_AT[frame.opcode] ?? -1;
  // No payload offset: the parser has not found the whole header.
  if (at < 0 || frame.payloadOffset < 0) return Kind.Plain;
  const syndrome = aethSyndrome(frame.view, frame.bthOffset + at) & SYNDROME_KIND_MASK;
  if (syndrome === SyndromeKind.Ack) return Kind.Positive;
  return syndrome === SyndromeKind.RnrNak ? Kind.NotReady : Kind.Negative;
}

/** Checks of one rule; errors name the rule and the field. */
class RuleCheck {
  readonly #rule: string;

  constructor(rule: string) {
    this.#rule = rule;
  }

  error(field: string, what: string): RoceError {
    return new RoceError('ERR_ROCE_ARGUMENT', `${this.#rule}: ${field} ${what}`);
  }

  integer(field: string, value: number | undefined, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
    if (value === undefined || (Number.isSafeInteger(value) && value >= min && value <= max)) return value;
    const bounds = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} .. ${max}`;
    throw this.error(field, `is ${value}; it must be a whole number, ${bounds}`);
  }

  share(field: string, value: number | undefined): number | undefined {
    if (value === undefined || (value >= 0 && value <= 1)) return value;
    throw this.error(field, `is ${value}; it must be 0 .. 1`);
  }

  oneOf(field: string, value: string, known: readonly string[]): void {
    if (!known.includes(value)) throw this.error(field, `is ${JSON.stringify(value)}; it must be ${known.join(', ')}`);
  }

  range(field: string, value: number | readonly [number, number] | undefined, min: number): Range {
    if (value === undefined) return { first: -Infinity, last: Infinity };
    const [first, last] = typeof value === 'number' ? [value, value] : value;
    this.integer(field, first, min);
    this.integer(field, last, first);
    return { first, last };
  }

  /** Fields that only some actions have, and fields that some require. */
  action(rule: WireRule): void {
    for (const [field, actions] of Object.entries(FIELDS_OF_ACTIONS)) {
      if (field in rule && !actions.includes(rule.do)) throw this.error(field, `means nothing to '${rule.do}'`);
    }
    this.integer('delayNs', rule.delayNs, 0);
    this.integer('copies', rule.copies, 1, 64);
    this.integer('behind', rule.behind, 1, 1024);
    this.integer('bit', rule.bit, 0);
    if (rule.do === 'delay' && rule.delayNs === undefined) throw this.error('delayNs', "is missing: 'delay' needs it");
    if (rule.do === 'rewrite') this.#fields(rule.set ?? {});
  }

  #fields(set: Readonly<Record<string, number>>): void {
    if (Object.keys(set).length === 0) throw this.error('set', "is empty: 'rewrite' needs at least one field");
    for (const [name, value] of Object.entries(set)) {
      const field = rewritableField(name);
      if (field === undefined) throw this.error(`set.${name}`, `is no field; there are ${FIELD_NAMES.join(', ')}`);
      this.integer(`set.${name}`, value, field.min, field.max);
    }
  }
}

/** What a RoCE packet is beside its opcode; exactly one of them. */
const Kind = { Plain: 1, Mad: 2, Positive: 4, Negative: 8, NotReady: 16, Every: 31 } as const;

const GROUP_KINDS: Partial<Record<OpcodeGroup, number>> = {
  send: Kind.Every & ~Kind.Mad,
  ack: Kind.Positive,
  nak: Kind.Negative | Kind.NotReady,
  'rnr-nak': Kind.NotReady,
  mad: Kind.Mad,
};

const GROUP_FLAGS: Partial<Record<OpcodeGroup, number>> = {
  send: OpFlag.Send,
  write: OpFlag.Write | OpFlag.AtomicWrite,
  'read-request': OpFlag.Read,
  'read-response': OpFlag.ReadResponse,
  atomic: OpFlag.Atomic,
  ack: OpFlag.Ack,
  nak: OpFlag.Ack,
  'rnr-nak': OpFlag.Ack,
  cnp: OpFlag.Cnp,
  mad: OpFlag.Send,
};

const FIELDS_OF_ACTIONS: Readonly<Record<string, readonly FaultAction[]>> = {
  delayNs: ['delay', 'duplicate', 'reorder'],
  copies: ['duplicate'],
  behind: ['reorder'],
  bit: ['corrupt'],
  set: ['rewrite'],
  fixIcrc: ['corrupt', 'rewrite'],
};
