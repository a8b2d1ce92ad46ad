/** CRC-32 of small and of large payloads, as an ICRC computes it, beside zlib's, in bytes a second. */
import { crc32 as zlibCrc32 } from 'node:zlib';
import { CRC32_INITIAL, crc32Update } from 'rocev2/packets';
import { type Bench, contest, type Goal, scaled, secondsOf } from './bench.ts';

/** As in a full packet. */
export const crcLargeBench: Bench = crcBench('crc-4096', 4096, { sense: '>=', ratio: 0.95 });
/** Where the call itself is most of it. */
export const crcSmallBench: Bench = crcBench('crc-64', 64, { sense: '>=', ratio: 2 });

function crcBench(name: string, length: number, goal: Goal): Bench {
  return {
    name,
    title: `CRC-32 of ${length} bytes beside zlib's`,
    async run(settings) {
      const bytes = Uint8Array.from({ length }, (_, at) => Math.imul(at, 0x9e3779b1) >>> 24);
      const view = new DataView(bytes.buffer);
      const ours = (): number => ~crc32Update(CRC32_INITIAL, bytes, 0, length, view) >>> 0;
      const theirs = (): number => zlibCrc32(bytes);
      const count = Math.ceil(scaled(BYTES, settings) / length);
      const speed = (crc: () => number): number => {
        let sum = 0;
        const seconds = secondsOf(() => {
          for (let i = 0; i < count; i++) sum ^= crc();
        });
        // The result is used: an engine may leave out what nobody reads.
        if (sum !== (count % 2 === 0 ? 0 : crc() | 0)) throw new Error('a CRC of the same bytes is always the same');
        return (count * length) / 2 ** 20 / seconds;
      };
      return contest(name, settings, {
        unit: 'MiB/s',
        peer: 'zlib.crc32',
        goal,
        ours: () => speed(ours),
        theirs: () => speed(theirs),
      });
    },
  };
}

const BYTES = 64 * 2 ** 20;
