/**
 * What the stream tests of rdmacm-utils have in common: their ladder of sizes, their table, and the bytes they verify.
 * Facts from rdma:librdmacm/examples/common.c and rstream.c; the lines are to be the same, column for column.
 */

/** A test: so many rounds of so many transfers each way. */
export interface TransferTest {
  readonly name: string;
  /** Bytes of a transfer. */
  readonly size: number;
  /** Transfers one way before the other way's turn. */
  readonly transfers: number;
  readonly iterations: number;
}

/** Sizes from 64 bytes to 6 MiB: powers of two and one and a half times them, or every fourth power of two. */
export function ladderSizes(all: boolean): number[] {
  const sizes = [1 << FIRST_POWER];
  for (let power = FIRST_POWER + 1; power <= LAST_POWER; power++) {
    if (all) sizes.push(1 << power, (1 << power) + (1 << (power - 1)));
    else if (COARSE_POWERS.includes(power)) sizes.push(1 << power);
  }
  return sizes;
}

/** One transfer at a time. */
export function latencyTest(size: number, limit: number): TransferTest {
  return { name: `${sizeText(size)}_lat`, size, transfers: 1, iterations: Math.min(limit, countFor(size)) };
}

/** All transfers one way, then the other way. */
export function bandwidthTest(size: number, limit: number): TransferTest {
  return { name: `${sizeText(size)}_bw`, size, transfers: Math.min(limit, countFor(size)), iterations: 1 };
}

/** How often a size is transferred (size_to_count). */
export function countFor(size: number): number {
  if (size >= 1 << 20) return 100;
  if (size >= 1 << 16) return 1000;
  return size >= 1 << 10 ? 10_000 : 100_000;
}

export const STREAM_HEADING = `${columns(['name', 'bytes', 'xfers', 'iters', 'total'])}${figures('time', 'Gb/sec', 'usec/xfer', ' ')}`;

/** The row of a test that took so many microseconds. */
export function streamRow({ name, size, transfers, iterations }: TransferTest, usec: number): string {
  const bytes = iterations * transfers * size * 2;
  const cells = [name, sizeText(size), countText(transfers), countText(iterations), sizeText(bytes)];
  return `${columns(cells)}${timeCells(usec, bytes, usec / iterations / (transfers * 2))}`;
}

/** Time, rate and time per transfer as the tables end. */
export function timeCells(usec: number, bytes: number, perTransfer: number): string {
  const seconds = (usec / 1e6).toFixed(2);
  return `${seconds.padStart(8)}s${rateText(bytes, usec).padStart(10)}${perTransfer.toFixed(2).padStart(11)}`;
}

/** Gigabits per second. */
export function rateText(bytes: number, usec: number): string {
  return ((bytes * 8) / (1000 * usec)).toFixed(2);
}

export function columns([name = '', ...cells]: readonly string[]): string {
  return name.padEnd(10) + cells.map((cell) => cell.padEnd(8)).join('');
}

export function figures(time: string, rate: string, perTransfer: string, gap: string): string {
  return `${time.padStart(8)}${gap}${rate.padStart(10)}${perTransfer.padStart(13)}`;
}

/** `64`, `1k`, `1.5k`, `20k`, `2.3m`: one digit behind the point below ten (size_str). */
export function sizeText(bytes: number): string {
  const [base, unit] = SIZE_UNITS.find(([least]) => bytes >= least) ?? [1, ''];
  const whole = Math.floor(bytes / base);
  const tenths = whole < 10 ? Math.floor(((bytes % base) * 10) / base) : 0;
  return tenths === 0 ? `${whole}${unit}` : `${whole}.${tenths}${unit}`;
}

/** `999`, `1k`, `2m`, `3b` (cnt_str). */
export function countText(count: number): string {
  const [base, unit] = COUNT_UNITS.find(([least]) => count >= least) ?? [1, ''];
  return `${Math.floor(count / base)}${unit}`;
}

/**
 * The bytes of `-T v`: they count up from transfer to transfer, and each side counts what it sends and what it gets.
 */
export class CountingBytes {
  #next = 0;
  #total = 0;

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.#next++ & 0xff;
  }

  /** Number of the first byte that is wrong, counted from the first that was ever verified; -1 when all are right. */
  verify(bytes: Uint8Array): number {
    for (const byte of bytes) {
      if (byte !== (this.#next++ & 0xff)) return this.#total;
      this.#total++;
    }
    return -1;
  }
}

const FIRST_POWER = 6;
const LAST_POWER = 22;
const COARSE_POWERS: readonly number[] = [12, 16, 20];
const SIZE_UNITS: readonly (readonly [number, string])[] = [
  [2 ** 30, 'g'],
  [2 ** 20, 'm'],
  [2 ** 10, 'k'],
];
const COUNT_UNITS: readonly (readonly [number, string])[] = [
  [1e9, 'b'],
  [1e6, 'm'],
  [1e3, 'k'],
];
