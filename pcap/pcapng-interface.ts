/**
 * One pcapng interface: its description and the clock its timestamps count in.
 *
 * Owns the arithmetic from 64-bit timestamps to seconds and nanoseconds; BigInt, because a resolution can be any power of
 * two or ten. Source: draft-ietf-opsawg-pcapng, options if_tsresol and if_tsoffset.
 */

import { Option } from './pcapng-blocks.ts';
import { optionText } from './pcapng-options.ts';
import type { CaptureInterface } from './types.ts';

export class PcapngInterface implements CaptureInterface {
  readonly linkType: number;
  readonly snapLength: number;
  name = '';
  description = '';
  private unitsPerSecond = 1_000_000n;
  private offsetSeconds = 0n;

  constructor(linkType: number, snapLength: number) {
    this.linkType = linkType;
    this.snapLength = snapLength;
  }

  /** Takes one option of the interface description; what is unknown or of a wrong size is ignored. */
  option(code: number, view: DataView, at: number, length: number, littleEndian: boolean): void {
    if (code === Option.InterfaceName) this.name = optionText(view, at, length);
    else if (code === Option.InterfaceDescription) this.description = optionText(view, at, length);
    else if (code === Option.TimestampResolution && length === 1) {
      const resolution = view.getUint8(at);
      this.unitsPerSecond = (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f);
    } else if (code === Option.TimestampOffset && length === 8) {
      this.offsetSeconds = view.getBigInt64(at, littleEndian);
    }
  }

  /** `[seconds, nanoseconds]` of a timestamp in two 32-bit words; finer fractions are cut off. */
  time(high: number, low: number): [seconds: number, nanoseconds: number] {
    const units = (BigInt(high) << 32n) | BigInt(low);
    const seconds = units / this.unitsPerSecond;
    const nanoseconds = ((units % this.unitsPerSecond) * 1_000_000_000n) / this.unitsPerSecond;
    return [Number(seconds + this.offsetSeconds), Number(nanoseconds)];
  }
}
