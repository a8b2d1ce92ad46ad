/**
 * Shortens long runs of bytes for CRC-32: a WebAssembly module, which this file writes byte by byte when it is first
 * used, half a KB, no toolchain.
 *
 * Owns the module, its memory and the copy into it. Null where the engine has no WebAssembly with vectors of 128 bits,
 * or a page's policy forbids it: `crc32.ts` then feeds all bytes to its tables. Compiled synchronously, which browsers
 * allow up to 4 KB.
 *
 * x^(8*300) + x^(8*155) + x^(8*117) + x^(8*89) + 1 is a multiple of the polynomial, so a byte is worth the same as
 * copies of it 145, 183, 211 and 300 bytes further on. Sixteen bytes at a time are moved on like this, with XOR alone,
 * until everything lies in the last 304 to 319 bytes. Only these need tables.
 */

/** Where a byte may be moved to, as distances. All are 16 or more: a vector never meets itself. */
const DISTANCES = [145, 183, 211, 300] as const;
/** The longest distance in whole vectors: bytes of zeros around what was moved, and the least that is left. */
const REACH = 304;

/** Runs of at least this many bytes are worth shortening. */
export const SHORTENED_BYTES = 640;

// The one page of memory: the run, zeros, and the bytes of the run as they are when they have been moved on.
const INPUT_AT = 0;
const MOVED_AT = 0x60_00;
/** From a byte of the run to the same when moved. */
const MOVED = MOVED_AT - INPUT_AT;
/** Longest run at a time. */
const MAX_RUN = 0x50_00;

/** Of the interface of WebAssembly, what is used here; the library of the DOM stays out. */
interface WasmApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: object };
}
interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Shortens the run that ends at `end` and begins with the register `state`; returns where what is left begins. */
  shorten(state: number, end: number): number;
}

/** Feeds a run into a register, as `crc32Update`; the last bytes of what is left go to `tables`. */
export type TableUpdate = (state: number, view: DataView, start: number, end: number) => number;

/** CRC-32 of runs of at least `SHORTENED_BYTES`. */
export class ShortenedCrc32 {
  readonly #memory: Uint8Array;
  readonly #view: DataView;
  readonly #shorten: WasmExports['shorten'];

  private constructor({ memory, shorten }: WasmExports) {
    this.#memory = new Uint8Array(memory.buffer);
    this.#view = new DataView(memory.buffer);
    this.#shorten = shorten;
  }

  /** Compiles the module; null when `engine` does not. */
  static make(engine: object = globalThis): ShortenedCrc32 | null {
    const { WebAssembly: api } = engine as { readonly WebAssembly?: WasmApi };
    if (api === undefined) return null;
    try {
      return new ShortenedCrc32(new api.Instance(new api.Module(moduleBytes())).exports as WasmExports);
    } catch {
      return null;
    }
  }

  /** Feeds [start, end) into a running register; `tables` takes what is left. */
  update(state: number, bytes: Uint8Array, start: number, end: number, tables: TableUpdate): number {
    let register = state;
    for (let at = start; at < end; at += MAX_RUN) {
      const length = Math.min(end - at, MAX_RUN);
      this.#memory.set(bytes.subarray(at, at + length), INPUT_AT);
      const runEnd = INPUT_AT + length;
      // The last piece of a long run may be short.
      const shortened = length >= SHORTENED_BYTES;
      const left = shortened ? this.#shorten(register, runEnd) : INPUT_AT;
      register = tables(shortened ? 0 : register, this.#view, left, runEnd);
    }
    return register;
  }
}

// The module. Numbers are opcodes of the WebAssembly core specification, version 2.

type Code = readonly number[];

const I32 = 0x7f;
const VOID = 0x40;

// Parameters and locals of the function.
const STATE = 0;
const END = 1;
const AT = 2;
const BORDER = 3;

const get = (local: number): Code => [0x20, local];
const set = (local: number, value: Code): Code => [...value, 0x21, local];
const constant = (value: number): Code => [0x41, ...signed(value)];
const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
const subtract = (a: Code, b: Code): Code => [...a, ...b, 0x6b];
const and = (a: Code, b: Code): Code => [...a, ...b, 0x71];
const xor = (a: Code, b: Code): Code => [...a, ...b, 0x73];
const below = (a: Code, b: Code): Code => [...a, ...b, 0x49];
const load = (address: Code): Code => [...address, 0x28, 0, 0];
const store = (address: Code, value: Code): Code => [...address, ...value, 0x36, 0, 0];
const loadVector = (address: Code, offset: number): Code => [...address, 0xfd, 0, 0, ...unsigned(offset)];
const storeVector = (address: Code, offset: number, value: Code): Code => {
  return [...address, ...value, 0xfd, 11, 0, ...unsigned(offset)];
};
const xorVector = (a: Code, b: Code): Code => [...a, ...b, 0xfd, 81];
const zeroVector: Code = [...constant(0), 0xfd, 17];
/** At least once. */
const repeatWhile = (condition: Code, ...body: readonly Code[]): Code => {
  return [0x03, VOID, ...body.flat(), ...condition, 0x0d, 0, 0x0b];
};

/** The function `shorten`. */
function shortenCode(): Code {
  const proceed = set(AT, add(get(AT), constant(16)));
  const atBorder = below(get(AT), get(BORDER));
  const zeros = Array.from({ length: REACH / 16 }, (_, vector) => 16 * vector);
  return [
    set(AT, constant(INPUT_AT)),
    store(get(AT), xor(load(get(AT)), get(STATE))),
    // What lies before the border is moved: whole vectors.
    set(BORDER, add(get(AT), and(subtract(subtract(get(END), get(AT)), constant(REACH)), constant(-16)))),
    // What lies behind it is not; an earlier run may have left its bytes here.
    ...zeros.map((offset) => storeVector(get(BORDER), MOVED + offset, zeroVector)),
    repeatWhile(atBorder, storeVector(get(AT), MOVED, arrived()), proceed),
    set(BORDER, add(get(BORDER), constant(REACH))),
    repeatWhile(atBorder, storeVector(get(AT), 0, arrived()), proceed),
    subtract(get(BORDER), constant(REACH)),
  ].flat();
}

/** Sixteen bytes of the run and what was moved to them. */
function arrived(): Code {
  const own = loadVector(get(AT), 0);
  return DISTANCES.reduce((sum, distance) => xorVector(sum, loadVector(get(AT), MOVED - distance)), own);
}

/** The module: one function, one page of memory. */
function moduleBytes(): Uint8Array {
  const locals = [1, 2, I32];
  const code = [...locals, ...shortenCode(), 0x0b];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [0x60, 2, I32, I32, 1, I32]),
    ...section(3, [0]),
    ...section(5, [1, 1, 1]),
    ...section(7, [...named('memory'), 2, 0], [...named('shorten'), 0, 0]),
    ...section(10, [...unsigned(code.length), ...code]),
  ]);
}

function section(id: number, ...entries: readonly Code[]): Code {
  const content = entries.flat();
  return [id, ...unsigned(content.length + 1), entries.length, ...content];
}

function named(name: string): Code {
  return [name.length, ...Array.from(name, (letter) => letter.charCodeAt(0))];
}

/** LEB128: seven bits a byte, the lowest first. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
