/**
 * The ICRC of a FLUSH as rdma_rxe computes it. Goal: the recipe gives what a 6.12 guest accepted, and is taken for
 * nothing else. Method: a frame that this guest answered, byte for byte, and a CRC over the parts put together anew.
 */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { isRxeFlush } from '../../packets/rxe-flush-icrc.ts';
import { fromHex, viewOf } from './support.ts';

/** IPv4 to ICRC, answered by rdma_rxe of Linux 6.12. */
const ACCEPTED = fromHex(
  `45000040000b4000401126060a4d00010a4d0002e17e12b7002c00001c40ffff00000012804ee641000000010000558e5fa1c3700000094300000008f189532d`,
);

function parsed(bytes: Uint8Array): Frame {
  const frame = new Frame();
  expect(parseFrame(bytes, viewOf(bytes), 0, bytes.length, Medium.Ip, frame)).toBe(FrameStatus.Ok);
  return frame;
}

describe("rdma_rxe's ICRC of a FLUSH", () => {
  it('is what a guest accepts, and not the right one', () => {
    const frame = parsed(ACCEPTED);
    expect([isRxeFlush(frame), icrcMatches(frame)]).toEqual([true, false]);
  });

  it('is a CRC that runs over the packet from the BTH on a second time, with nothing masked', () => {
    const masked = ACCEPTED.slice(0, -4);
    for (const at of [1, 8, 10, 11, 26, 27, 32]) masked[at] = 0xff;
    const twice = Uint8Array.of(...new Uint8Array(8).fill(0xff), ...masked, ...ACCEPTED.slice(28, -4));
    expect(viewOf(ACCEPTED).getUint32(ACCEPTED.length - 4, true)).toBe(crc32(twice));
  });

  it('is not taken for right with another byte, nor of another request', () => {
    for (const at of [28, 40, 44, ACCEPTED.length - 1]) {
      const bytes = ACCEPTED.slice();
      bytes[at] = (bytes[at] ?? 0) ^ (at === 28 ? 0x10 : 1);
      expect(isRxeFlush(parsed(bytes))).toBe(false);
    }
  });
});
