/**
 * Declared structures: little-endian fields at fixed places, read and written from one table.
 *
 * Owns the kinds of fields and how a table of them reads and writes bytes; the files beside it have the tables. Every
 * structure of NVMe but the two of each command, `command.ts` and `completion.ts`, is read at most a few times a
 * second, so one general way is enough. Reading never throws, whatever the bytes are. Writing writes every byte: what
 * no field covers becomes 0.
 *
 * Bits count as in the specification of NVMe: bit 0 is the lowest of the first byte, bit 8 the lowest of the second.
 */
import { RoceError } from '../../../../packets/errors.ts';

/** One value at a fixed place of a structure. */
export interface Field<T> {
  /** First bit, counted from the lowest of the first byte of the structure. */
  readonly bit: number;
  /** Width, in bits. */
  readonly bits: number;
  /** What is written where no value is given. */
  readonly empty: T;
  /** The value in the structure that begins at `at`. */
  read(view: DataView, at: number): T;
  /** Writes into zeroed bytes. Throws ERR_ROCE_ARGUMENT when the value does not fit. */
  write(view: DataView, at: number, value: T): void;
}

/** A table of fields by name. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** Values of the fields of a table. */
export type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Values of a structure: `ValuesOf<typeof SMART_LOG>`. */
export type ValuesOf<S> = S extends Structure<infer F> ? Values<F> : never;

/**
 * A structure of a fixed length.
 *
 * @example
 * ```ts
 * import { flag, Structure, u16, u32 } from 'rocev2/nvme';
 *
 * const HEADER = new Structure('Header', 8, { count: u16(0), last: flag(16), generation: u32(4) });
 * const bytes = HEADER.encode({ count: 3, generation: 0x0102 });
 * console.log(bytes.join(' ')); // 3 0 0 0 2 1 0 0
 * const { count, last, generation } = HEADER.read(bytes) ?? HEADER.zeroed();
 * console.log(count, last, generation); // 3 false 258
 * console.log(HEADER.read(bytes, 1)); // undefined
 * ```
 */
export class Structure<F extends Fields> {
  /** Its name in the specification. */
  readonly title: string;
  /** Its length, in bytes. */
  readonly byteLength: number;
  /** What it is made of. */
  readonly fields: F;
  readonly #entries: readonly (readonly [string, Field<unknown>])[];

  /** Called by `structure`. */
  constructor(title: string, byteLength: number, fields: F) {
    this.title = title;
    this.byteLength = byteLength;
    this.fields = fields;
    this.#entries = Object.entries(fields);
  }

  /** The values of the structure at `offset`; undefined when it does not fit between there and the end of `bytes`. */
  read(bytes: Uint8Array, offset = 0): Values<F> | undefined {
    if (!(offset >= 0 && offset + this.byteLength <= bytes.length)) return undefined;
    return this.#readAt(viewOf(bytes), offset);
  }

  /**
   * Writes all bytes of the structure at `offset`; a field without a value becomes 0 or empty.
   *
   * @throws RoceError ERR_ROCE_ARGUMENT when the structure does not fit there or a value does not fit its field
   */
  write(values: Partial<Values<F>>, bytes: Uint8Array, offset = 0): void {
    if (!(offset >= 0 && offset + this.byteLength <= bytes.length))
      throw new RoceError('ERR_ROCE_ARGUMENT', `${this.title} does not fit ${bytes.length} bytes at ${offset}`);
    bytes.fill(0, offset, offset + this.byteLength);
    const view = viewOf(bytes);
    const given: Readonly<Record<string, unknown>> = values;
    for (const [name, field] of this.#entries) {
      const value = given[name];
      if (value === undefined) continue;
      try {
        field.write(view, offset, value);
      } catch (cause) {
        if (!(cause instanceof RoceError)) throw cause;
        throw new RoceError('ERR_ROCE_ARGUMENT', `${this.title}, ${name}: ${cause.message}`, { cause });
      }
    }
  }

  /** The same in fresh bytes. */
  encode(values: Partial<Values<F>>): Uint8Array {
    const bytes = new Uint8Array(this.byteLength);
    this.write(values, bytes);
    return bytes;
  }

  /** The values of a structure of zeros. */
  zeroed(): Values<F> {
    return this.#readAt(viewOf(new Uint8Array(this.byteLength)), 0);
  }

  /** The values of a structure that travels as one number: a property, a dword of a command or of a completion. */
  ofNumber(value: number | bigint): Values<F> {
    SCRATCH.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true);
    SCRATCH.setBigUint64(8, 0n, true);
    return this.#readAt(SCRATCH, 0);
  }

  /** The structure as a number; of at most four bytes, for longer ones there is `toBigint`. */
  toNumber(values: Partial<Values<F>>): number {
    return Number(BigInt.asUintN(32, this.toBigint(values)));
  }

  /** The structure, of at most eight bytes, as a bigint. */
  toBigint(values: Partial<Values<F>>): bigint {
    const bytes = new Uint8Array(Math.max(this.byteLength, 8));
    this.write(values, bytes);
    return viewOf(bytes).getBigUint64(0, true);
  }

  #readAt(view: DataView, at: number): Values<F> {
    const values: Record<string, unknown> = {};
    for (const [name, field] of this.#entries) values[name] = field.read(view, at);
    return values as Values<F>;
  }
}

/** Declares a structure. */
export function structure<F extends Fields>(title: string, byteLength: number, fields: F): Structure<F> {
  return new Structure(title, byteLength, fields);
}

/** A number of 8 bits at byte `at`. */
export function u8(at: number): Field<number> {
  return bits(at * 8, 8);
}

/** A number of 16 bits. */
export function u16(at: number): Field<number> {
  return bits(at * 8, 16);
}

/** A number of 24 bits. */
export function u24(at: number): Field<number> {
  return bits(at * 8, 24);
}

/** A number of 32 bits. */
export function u32(at: number): Field<number> {
  return bits(at * 8, 32);
}

/** A number of 64 bits. */
export function u64(at: number): Field<bigint> {
  return big(at, 8);
}

/** A number of 128 bits. */
export function u128(at: number): Field<bigint> {
  return big(at, 16);
}

/** `count` bits, at most 32, from bit `bit` on. */
export function bits(bit: number, count: number): Field<number> {
  const first = bit >>> 3;
  const shift = bit & 7;
  const last = (bit + count - 1) >>> 3;
  const limit = 2 ** count;
  return {
    bit,
    bits: count,
    empty: 0,
    read(view, at) {
      let value = 0;
      for (let byte = last; byte >= first; byte--) value = value * 256 + view.getUint8(at + byte);
      return Math.floor(value / 2 ** shift) % limit;
    },
    write(view, at, value) {
      if (!(Number.isInteger(value) && value >= 0 && value < limit)) refuse(value, count);
      let rest = value * 2 ** shift;
      for (let byte = first; byte <= last; byte++) {
        view.setUint8(at + byte, view.getUint8(at + byte) | (rest % 256));
        rest = Math.floor(rest / 256);
      }
    },
  };
}

/** One bit. */
export function flag(bit: number): Field<boolean> {
  const one = bits(bit, 1);
  return {
    bit,
    bits: 1,
    empty: false,
    read: (view, at) => one.read(view, at) === 1,
    write: (view, at, value) => one.write(view, at, value ? 1 : 0),
  };
}

/** `length` bytes: a copy when read, at most as many when written. */
export function bytes(at: number, length: number): Field<Uint8Array> {
  return {
    bit: at * 8,
    bits: length * 8,
    empty: new Uint8Array(0),
    read: (view, base) => areaOf(view, base + at, length).slice(),
    write: (view, base, value) => put(view, base + at, length, value, 0),
  };
}

/** ASCII, padded with spaces, by some with zeros: a serial number. What is not ASCII reads as a question mark. */
export function ascii(at: number, length: number): Field<string> {
  return {
    bit: at * 8,
    bits: length * 8,
    empty: '',
    read(view, base) {
      let text = '';
      for (const byte of areaOf(view, base + at, length)) {
        if (byte === 0) break;
        text += isPrintable(byte) ? String.fromCharCode(byte) : '?';
      }
      return text.trimEnd();
    },
    write(view, base, value) {
      const encoded = new TextEncoder().encode(value);
      if (!encoded.every(isPrintable)) throw new RoceError('ERR_ROCE_ARGUMENT', `"${value}" is not ASCII`);
      put(view, base + at, length, encoded, SPACE);
    },
  };
}

/**
 * UTF-8, ended by a zero byte: a qualified name. One that fills its field has no zero byte; the reader's business.
 */
export function utf8(at: number, length: number): Field<string> {
  return {
    bit: at * 8,
    bits: length * 8,
    empty: '',
    read(view, base) {
      const area = areaOf(view, base + at, length);
      const end = area.indexOf(0);
      return new TextDecoder().decode(end < 0 ? area : area.subarray(0, end));
    },
    write: (view, base, value) => put(view, base + at, length, new TextEncoder().encode(value), 0),
  };
}

/** `count` values, `stride` bytes apart; `of` makes the field of one from its place. Fewer may be written. */
export function list<T>(at: number, count: number, stride: number, of: (at: number) => Field<T>): Field<readonly T[]> {
  const fields = Array.from({ length: count }, (_, i) => of(at + i * stride));
  return {
    bit: at * 8,
    bits: count * stride * 8,
    empty: [],
    read: (view, base) => fields.map((field) => field.read(view, base)),
    write(view, base, values) {
      if (values.length > count)
        throw new RoceError('ERR_ROCE_ARGUMENT', `there is room for ${count}, not ${values.length}`);
      for (const [i, field] of fields.entries()) field.write(view, base, values[i] ?? field.empty);
    },
  };
}

/** A structure within another. */
export function part<F extends Fields>(at: number, inner: Structure<F>): Field<Partial<Values<F>>> {
  return {
    bit: at * 8,
    bits: inner.byteLength * 8,
    empty: {},
    read: (view, base) => inner.read(areaOf(view, base + at, inner.byteLength)) ?? {},
    write: (view, base, values) => inner.write(values, areaOf(view, base + at, inner.byteLength)),
  };
}

function big(at: number, byteLength: 8 | 16): Field<bigint> {
  return {
    bit: at * 8,
    bits: byteLength * 8,
    empty: 0n,
    read(view, base) {
      const low = view.getBigUint64(base + at, true);
      return byteLength === 8 ? low : low | (view.getBigUint64(base + at + 8, true) << 64n);
    },
    write(view, base, value) {
      if (!(value >= 0n && value < 1n << BigInt(byteLength * 8))) refuse(value, byteLength * 8);
      view.setBigUint64(base + at, BigInt.asUintN(64, value), true);
      if (byteLength === 16) view.setBigUint64(base + at + 8, value >> 64n, true);
    },
  };
}

function put(view: DataView, at: number, length: number, value: Uint8Array, padding: number): void {
  if (value.length > length)
    throw new RoceError('ERR_ROCE_ARGUMENT', `there is room for ${length} bytes, not ${value.length}`);
  const area = areaOf(view, at, length);
  area.fill(padding);
  area.set(value);
}

function refuse(value: number | bigint, count: number): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', `${value} is no number of ${count} bits`);
}

function isPrintable(byte: number): boolean {
  return byte >= SPACE && byte < 0x7f;
}

function areaOf(view: DataView, at: number, length: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, length);
}

function viewOf(of: Uint8Array): DataView {
  return new DataView(of.buffer, of.byteOffset, of.byteLength);
}

const SPACE = 0x20;
/** For `ofNumber`: eight bytes of the number, and zeros behind them. */
const SCRATCH = new DataView(new ArrayBuffer(16));
