/**
 * Reads a ladder: one step a line, `#` begins a comment. Owns the grammar (docs/conformance.md shows it) and its
 * errors, which name line and word. Never plays anything.
 */
import { Op, RoceError, Syndrome } from 'rocev2/packets';
import type { SendOpcode } from '../host-control/host-control.ts';
import type { RegionRef, ScriptLine, ScriptPacket, ScriptStep } from './steps.ts';
import { durationOf, FLAGS, NUMBERS, opcodeOf, payloadOf } from './words.ts';

/** Whether a script says of itself, in a comment of its own, that a device may not survive it. */
export const isHazardous = (text: string): boolean => /^\s*#\s*hazardous\s*$/m.test(text);

/** The steps of a script. @throws RoceError ERR_ROCE_ARGUMENT for a line that makes no sense */
export function parseScript(text: string): ScriptLine[] {
  return text.split(/\r?\n/).flatMap((raw, i) => {
    const words = raw.replace(/#.*$/, '').trim().split(/\s+/);
    if (words[0] === '') return [];
    return [{ line: i + 1, step: new LineReader(words, i + 1).step() }];
  });
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

class LineReader {
  readonly #words: readonly string[];
  readonly #line: number;
  #at = 0;

  constructor(words: readonly string[], line: number) {
    this.#words = words;
    this.#line = line;
  }

  step(): ScriptStep {
    const step = this.#step(this.#next('a step'));
    if (this.#at < this.#words.length) this.#fail(`'${this.#words[this.#at]}' was not expected`);
    return step;
  }

  #step(kind: string): ScriptStep {
    switch (kind) {
      case 'connect':
        return this.#connect();
      case 'tx':
        return { kind, packet: { opcode: 0, psn: 0, ...this.#packet() } };
      case 'rx':
        return this.#rx();
      case 'acked': {
        const psn = this.#number(-0x80_00_00, 0xff_ff_ff);
        return { kind, psn, ...(this.#took('msn') ? { msn: this.#number(0, 0xff_ff_ff) } : {}) };
      }
      case 'silence':
        return { kind, ...(this.#at < this.#words.length ? { durationNs: this.#duration() } : {}) };
      case 'sentinel': {
        const psn = this.#number(-0x80_00_00, 0xff_ff_ff);
        this.#expect('msn');
        return { kind, psn, msn: this.#number(0, 0xff_ff_ff) };
      }
      case 'dead':
        return { kind, psn: this.#number(-0x80_00_00, 0xff_ff_ff) };
      case 'sleep':
        return { kind, durationNs: this.#duration() };
      case 'post':
        return this.#post();
      case 'receive':
        return { kind, wrId: this.#named('id'), length: this.#named('length') };
      case 'completion':
        return { kind, wrId: this.#named('id'), status: this.#named('status') };
      case 'window':
        return { kind, ...(this.#at < this.#words.length ? { bound: this.#bound() } : {}) };
      case 'received':
        return { kind, wrId: this.#named('id'), status: this.#named('status') };
      case 'buffer':
        return { kind, payload: this.#payload() };
      case 'state':
        return { kind, state: this.#oneOf(STATES) };
      default:
        return this.#fail(`'${kind}' is none of ${KINDS.join(', ')}`);
    }
  }

  #rx(): ScriptStep {
    const wants = [this.#wanted()];
    while (this.#took('or')) wants.push(this.#wanted());
    return { kind: 'rx', wants, ...(this.#took('within') ? { withinNs: this.#duration() } : {}) };
  }

  /** What may be expected: of what arrives, nothing below the BTH is looked at. */
  #wanted(): Partial<ScriptPacket> {
    const packet = this.#packet();
    const { cut, udpLength, ipOptions, badIcrc, rxeIcrc } = packet;
    if ([cut, udpLength, ipOptions, badIcrc, rxeIcrc].some((field) => field !== undefined))
      this.#fail('cut, udp-length, ip-options, bad-icrc and rxe-icrc are for packets that are sent');
    return packet;
  }

  #bound(): { offset: number; length: number } {
    return { offset: this.#named('offset'), length: this.#named('length') };
  }

  #payload(): Uint8Array {
    return payloadOf(this.#next('a payload')) ?? this.#fail('a payload is 64, 64/3 or hex:00ff');
  }

  #post(): ScriptStep {
    const opcode = this.#oneOf(POSTS);
    const wrId = this.#named('id');
    const length = this.#named('length');
    this.#expect('at');
    const remote = regionOf(this.#next('a place in the region'));
    if (remote === undefined) this.#fail('a place in the region is expected: region+16');
    return { kind: 'post', opcode, wrId, length, remote };
  }

  #connect(): ScriptStep {
    const options: Record<string, number | string> = {};
    const type = this.#words[this.#at];
    if (type === 'rc' || type === 'uc' || type === 'ud') {
      options['type'] = type;
      this.#at++;
    }
    const rights = RIGHTS.filter((right) => this.#took(right));
    while (this.#at < this.#words.length) {
      const word = this.#oneOf(CONNECT_WORDS);
      options[word.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())] = this.#number(0, 0xff_ff_ff_ff);
    }
    return { kind: 'connect', options, ...(rights.length === 0 ? {} : { rights }) };
  }

  #packet(): Partial<ScriptPacket> {
    const packet: Writable<Partial<ScriptPacket>> = this.#head();
    for (
      let word = this.#words[this.#at];
      word !== undefined && word !== 'or' && word !== 'within';
      word = this.#words[this.#at]
    ) {
      this.#at++;
      this.#field(word, packet);
    }
    return packet;
  }

  /** What kind of packet it is. */
  #head(): Writable<Partial<ScriptPacket>> {
    const word = this.#next('a packet');
    if (word === 'ack') return { opcode: Op.Acknowledge, syndrome: Syndrome.Ack };
    if (word === 'nak') return { opcode: Op.Acknowledge, syndrome: this.#number(0, 0xff) };
    if (word === 'rnr') return { opcode: Op.Acknowledge, syndrome: Syndrome.RnrNak | this.#number(0, 31) };
    const opcode = opcodeOf(word);
    if (opcode === undefined)
      this.#fail(`'${word}' is no packet: ack, nak, rnr, an opcode's name or number is expected`);
    return { opcode };
  }

  #field(word: string, packet: Writable<Partial<ScriptPacket>>): void {
    const number = NUMBERS.find((one) => one.word === word);
    const flag = FLAGS.find((one) => one.word === word);
    if (word === 'inv' && this.#took('window')) Object.assign(packet, { windowKey: true, inv: 0 });
    else if (number !== undefined) packet[number.field] = this.#number(word === 'psn' ? -0x80_00_00 : 0, number.max);
    else if (flag !== undefined) Object.assign(packet, flag.set);
    else if (word === 'payload') packet.payload = this.#payload();
    else if (word === 'source' || word === 'destination') packet[word] = this.#next('an address');
    else if (word === 'original') packet.original = this.#big();
    else this.#header(word, packet);
  }

  #header(word: string, packet: Writable<Partial<ScriptPacket>>): void {
    const { reth = NO_RETH, atomic = NO_ATOMIC, feth = NO_FETH, opcode } = packet;
    const isAtomic = opcode === Op.CompareSwap || opcode === Op.FetchAdd;
    const put = (part: { va?: bigint; rkey?: number }): void => {
      if (isAtomic) packet.atomic = { ...atomic, ...part };
      else packet.reth = { ...reth, ...part };
    };
    if (word === 'va') {
      const at = regionOf(this.#words[this.#at] ?? '');
      if (at === undefined) put({ va: this.#big() });
      else {
        this.#at++;
        packet.at = at;
        put({ va: 0n });
      }
    } else if (word === 'rkey') {
      if (this.#took('region')) packet.ownKey = true;
      else if (this.#took('window')) packet.windowKey = true;
      put({ rkey: packet.ownKey === true || packet.windowKey === true ? 0 : this.#number(0, 0xff_ff_ff_ff) });
    } else if (word === 'length') packet.reth = { ...reth, length: this.#number(0, 0xff_ff_ff_ff) };
    else if (word === 'swap') packet.atomic = { ...atomic, swapAdd: this.#big() };
    else if (word === 'compare') packet.atomic = { ...atomic, compare: this.#big() };
    else if (word === 'placement') packet.feth = { ...feth, placement: this.#number(0, 15) };
    else if (word === 'selectivity') packet.feth = { ...feth, selectivity: this.#number(0, 3) };
    else this.#fail(`'${word}' is no field of a packet`);
  }

  #named(word: string): number {
    this.#expect(word);
    return this.#number(0, 0xff_ff_ff_ff);
  }

  #expect(word: string): void {
    if (!this.#took(word)) this.#fail(`'${word}' is expected`);
  }

  #took(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at++;
    return true;
  }

  #oneOf<const T extends string>(words: readonly T[]): T {
    const word = this.#next(`one of ${words.join(', ')}`);
    return words.find((one) => one === word) ?? this.#fail(`'${word}' is none of ${words.join(', ')}`);
  }

  #number(min: number, max: number): number {
    const word = this.#next('a number');
    const value = /^(?:-?\d{1,10}|0x[0-9a-f]{1,8})$/i.test(word) ? Number(word) : Number.NaN;
    return value >= min && value <= max ? value : this.#fail(`'${word}' is no whole number from ${min} to ${max}`);
  }

  #big(): bigint {
    const word = this.#next('a number of 64 bits');
    return /^(?:\d{1,20}|0x[0-9a-f]{1,16})$/i.test(word)
      ? BigInt(word)
      : this.#fail(`'${word}' is no number of 64 bits`);
  }

  #duration(): number {
    const word = this.#next('a duration');
    return durationOf(word) ?? this.#fail(`'${word}' is no duration: 250us, 10ms, 1s`);
  }

  #next(what: string): string {
    return this.#words[this.#at++] ?? this.#fail(`${what} is missing`);
  }

  #fail(why: string): never {
    throw new RoceError('ERR_ROCE_ARGUMENT', `line ${this.#line} of the script: ${why}`);
  }
}

/** `region`, `region+16`, `region-8`. */
function regionOf(word: string): RegionRef | undefined {
  const match = /^region(?:([+-]\d{1,9}))?$/.exec(word);
  return match === null ? undefined : { offset: Number(match[1] ?? 0) };
}

const NO_RETH = { va: 0n, rkey: 0, length: 0 };
const NO_ATOMIC = { va: 0n, rkey: 0, swapAdd: 0n, compare: 0n };
const NO_FETH = { placement: 0, selectivity: 0 };
const KINDS = [
  'connect',
  'tx',
  'rx',
  'acked',
  'silence',
  'sentinel',
  'dead',
  'sleep',
  'post',
  'receive',
  'completion',
  'received',
  'buffer',
  'window',
  'state',
];
const RIGHTS = ['flush', 'windows'] as const;
const STATES = ['RTS', 'ERR', 'SQD', 'SQE', 'RTR'] as const;
const POSTS: readonly SendOpcode[] = ['send', 'write', 'read', 'cmp-swap', 'fetch-add', 'send-imm', 'write-imm'];
const CONNECT_WORDS = [
  ...['version', 'psn', 'dut-psn', 'mtu', 'region-bytes', 'receives', 'receive-bytes', 'max-dest-rd-atomic'],
  ...['max-rd-atomic', 'min-rnr-timer', 'timeout', 'retry-cnt', 'rnr-retry', 'qkey', 'hop-limit', 'traffic-class'],
] as const;
