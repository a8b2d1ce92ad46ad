/**
 * New inputs of old ones, by chance from a seed. Owns the kinds of change: bits, bytes, arithmetic on numbers of 8 to
 * 32 bits in both byte orders, pieces taken out, doubled, moved, replaced by those of another input, words of the
 * format, numbers and texts of the code. Where inputs are lists of records, records change places, too.
 */
import type { Prng } from '../../../src/ground/prng.ts';
import { type InputRecord, packRecords, unpackRecords } from './records.ts';

export interface MutatorOptions {
  readonly maxBytes: number;
  readonly records: boolean;
  /** To be put in. */
  readonly words: readonly Uint8Array[];
  readonly random: Prng;
}

export class Mutator {
  readonly #options: MutatorOptions;
  readonly #random: Prng;

  constructor(options: MutatorOptions) {
    this.#options = options;
    this.#random = options.random;
  }

  /** One to sixteen changes of `input`; pieces come from `other`. */
  mutate(input: Uint8Array, other: Uint8Array): Uint8Array {
    const random = this.#random;
    let bytes = input;
    const rounds = 1 << random.below(5);
    for (let round = 0; round < rounds; round++) {
      bytes = this.#options.records && random.chance(0.9) ? this.#records(bytes, other) : this.#bytes(bytes, other);
    }
    return bytes.length > this.#options.maxBytes ? bytes.slice(0, this.#options.maxBytes) : bytes;
  }

  #records(input: Uint8Array, other: Uint8Array): Uint8Array {
    const random = this.#random;
    const records = unpackRecords(input);
    const others = unpackRecords(other);
    const at = random.below(records.length + 1);
    const record = records[at];
    const strange = others[random.below(Math.max(1, others.length))];
    const kind = random.below(16);
    if (record === undefined || kind === 0) {
      if (strange !== undefined) records.splice(at, 0, strange);
    } else if (kind === 1) records.splice(at, 1);
    else if (kind === 2) records.splice(at, 0, record);
    else if (kind === 3) {
      const to = random.below(records.length);
      records.splice(at, 1);
      records.splice(to, 0, record);
    } else if (kind === 4) records[at] = { ...record, flags: record.flags ^ (1 << random.below(8)) };
    else records[at] = this.#record(record, strange);
    return packRecords(records);
  }

  #record(record: InputRecord, strange: InputRecord | undefined): InputRecord {
    return { flags: record.flags, bytes: this.#bytes(record.bytes, strange?.bytes ?? NOTHING) };
  }

  #bytes(input: Uint8Array, other: Uint8Array): Uint8Array {
    const random = this.#random;
    const at = random.below(input.length + 1);
    const length = 1 + random.below(random.chance(0.8) ? 8 : 64);
    const { words } = this.#options;
    switch (random.below(10)) {
      case 0:
      case 1:
        return changed(input, at, (byte) => byte ^ (1 << random.below(8)));
      case 2:
        return changed(input, at, () => random.below(256));
      case 3:
      case 4:
        return this.#number(input);
      case 5:
        return spliced(input, at, length, NOTHING);
      case 6:
        return spliced(input, at, 0, input.subarray(random.below(input.length + 1)).subarray(0, length));
      case 7: {
        const from = random.below(other.length + 1);
        return spliced(input, at, random.chance(0.5) ? length : 0, other.subarray(from, from + length * 2));
      }
      case 8: {
        const word = words[random.below(Math.max(1, words.length))] ?? NOTHING;
        return spliced(input, at, random.chance(0.5) ? word.length : 0, word);
      }
      default:
        return random.chance(0.5)
          ? spliced(
              input,
              at,
              0,
              Uint8Array.from({ length }, () => random.below(256)),
            )
          : spliced(input, at, input.length - at, other.subarray(Math.min(at, other.length)));
    }
  }

  /** A number in the input gets a little more or less, or becomes one at the edge of something. */
  #number(input: Uint8Array): Uint8Array {
    const random = this.#random;
    const size = 1 << random.below(3);
    if (input.length < size) return input;
    const bytes = input.slice();
    const view = new DataView(bytes.buffer);
    const at = random.below(bytes.length - size + 1);
    const little = random.chance(0.5);
    const edge = (EDGES[random.below(EDGES.length)] ?? 0) + random.below(3) - 1;
    const by = random.below(35) - 17;
    const next = (old: number): number => (random.chance(0.5) ? edge : old + by);
    if (size === 1) view.setUint8(at, next(view.getUint8(at)));
    else if (size === 2) view.setUint16(at, next(view.getUint16(at, little)), little);
    else view.setUint32(at, next(view.getUint32(at, little)), little);
    return bytes;
  }
}

/** Numbers and texts of code as bytes: numbers of more than a byte in both orders. */
export function wordsOf(numbers: Iterable<number>, texts: Iterable<string>): Uint8Array[] {
  const words: Uint8Array[] = [];
  for (const number of numbers) {
    if (!Number.isInteger(number) || number < 0x20 || number > 0xff_ff_ff_ff) continue;
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, number);
    const big = new Uint8Array(view.buffer).slice(number > 0xff_ff ? 0 : number > 0xff ? 2 : 3);
    words.push(big);
    if (big.length > 1) words.push(big.slice().reverse());
  }
  for (const text of texts) if (text.length > 1 && text.length < 32) words.push(new TextEncoder().encode(text));
  return words;
}

function changed(input: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const bytes = input.slice();
  if (at < bytes.length) bytes[at] = change(bytes[at] ?? 0);
  return bytes;
}

function spliced(input: Uint8Array, at: number, remove: number, put: Uint8Array): Uint8Array {
  const tail = input.subarray(Math.min(input.length, at + remove));
  const bytes = new Uint8Array(at + put.length + tail.length);
  bytes.set(input.subarray(0, at));
  bytes.set(put, at);
  bytes.set(tail, at + put.length);
  return bytes;
}

const NOTHING = new Uint8Array(0);
const EDGES = [
  0, 1, 4, 8, 16, 32, 64, 127, 128, 255, 256, 4096, 0x7f_ff, 0x80_00, 0xff_ff, 0x7f_ff_ff_ff, 0xff_ff_ff_ff,
];
