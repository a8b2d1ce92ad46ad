/**
 * The clock of the timestamps of one pcapng interface.
 *
 * Owns the conversion of 64-bit timestamps to seconds and nanoseconds, exact for every resolution. It needs no BigInt
 * where the resolution is a power of ten up to nanoseconds or a power of two up to 2^-32 seconds. All capture tools
 * write one of these.
 * Source: draft-ietf-opsawg-pcapng, options if_tsresol and if_tsoffset.
 */

export class PcapngClock {
  /** What `read` made of the last timestamp. */
  seconds = 0;
  /** 0..999,999,999; finer fractions are cut off. */
  nanoseconds = 0;
  private readonly unitsPerSecond: number;
  private readonly nanosecondsPerUnit: number;
  private readonly offsetSeconds: number;
  /** For the resolutions that doubles cannot do. */
  private readonly wideUnits: bigint | undefined;
  /** The last timestamp, and what of it is beyond a whole second, in units; -1: there was none, or one that is wide. */
  private high = -1;
  private low = 0;
  private units = 0;

  /** `resolution` as in the file: a negative power of ten, or of two with bit 7 set. */
  constructor(resolution: number, offsetSeconds: number) {
    const exponent = resolution & 0x7f;
    const binary = (resolution & 0x80) !== 0;
    this.unitsPerSecond = (binary ? 2 : 10) ** exponent;
    this.nanosecondsPerUnit = 1e9 / this.unitsPerSecond;
    this.offsetSeconds = offsetSeconds;
    const exact = exponent <= (binary ? LARGEST_BINARY_EXPONENT : LARGEST_DECIMAL_EXPONENT);
    this.wideUnits = exact ? undefined : (binary ? 2n : 10n) ** BigInt(exponent);
  }

  /** Reads a timestamp in two 32-bit words into `seconds` and `nanoseconds`. */
  read(high: number, low: number): void {
    if (this.wideUnits !== undefined) {
      this.readWide(high, low, this.wideUnits);
      return;
    }
    // Nearly always in the same second as the one before: divisions take longer than all the rest.
    const units = this.units + (low - this.low);
    if (high === this.high && units >= 0 && units < this.unitsPerSecond) this.units = units;
    else this.divide(high, low);
    this.high = high;
    this.low = low;
    this.nanoseconds = Math.floor(this.units * this.nanosecondsPerUnit);
  }

  private divide(high: number, low: number): void {
    // Long division in base 2^16: a remainder is at most 2^32, so that nothing exceeds 2^53.
    const units = this.unitsPerSecond;
    const first = Math.floor(high / units);
    const middle = (high % units) * 0x1_0000 + (low >>> 16);
    const second = Math.floor(middle / units);
    const last = (middle % units) * 0x1_0000 + (low & 0xffff);
    const third = Math.floor(last / units);
    this.seconds = first * 0x1_0000_0000 + second * 0x1_0000 + third + this.offsetSeconds;
    this.units = last % units;
  }

  private readWide(high: number, low: number, units: bigint): void {
    const time = (BigInt(high) << 32n) | BigInt(low);
    this.seconds = Number(time / units) + this.offsetSeconds;
    this.nanoseconds = Number(((time % units) * 1_000_000_000n) / units);
  }
}

/** What holds for an interface without the option. */
export const MICROSECOND_RESOLUTION = 6;
/** Up to here a unit is a whole number of nanoseconds: the product in `read` is exact. */
const LARGEST_DECIMAL_EXPONENT = 9;
/** 10^9 has 21 significant bits, and so has 10^9 / 2^n: its product with 32 bits is exact. */
const LARGEST_BINARY_EXPONENT = 32;
