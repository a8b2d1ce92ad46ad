/** The bytes of rping, compared with those of real rping in the captures. */
import { describe, expect, it } from 'vitest';
import {
  fillPing,
  MIN_PING_BYTES,
  pingText,
  pingTextBytes,
  readAdvertisement,
  writeAdvertisement,
} from '../../../tools/rping/protocol.ts';

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the advertisement', () => {
  // SEND ONLY of the first ping in rxe-6.12.pcap, frame 20: `rping -C 5 -S 3000`.
  const bytes = Uint8Array.of(0, 0, 0x56, 0x1d, 0x39, 0xf4, 0x01, 0x80, 0, 0, 5, 0x14, 0, 0, 0x0b, 0xb8);
  const buffer = { address: 0x561d_39f4_0180n, rkey: 0x514, size: 3000 };

  it('of a real client is read', () => {
    expect(readAdvertisement(new DataView(bytes.buffer))).toEqual(buffer);
  });

  it('is written as a real client writes it', () => {
    const written = new Uint8Array(16).fill(0xa5);
    writeAdvertisement(new DataView(written.buffer), buffer);
    expect(written).toEqual(bytes);
  });
});

describe('the data of a ping', () => {
  const filled = (size: number, ping: number): Uint8Array => {
    const bytes = new Uint8Array(size).fill(0xa5);
    fillPing(bytes, ping);
    return bytes;
  };

  it('is a heading, letters, and a zero byte at the end', () => {
    expect(filled(32, 0)).toEqual(ascii('rdma-ping-0: ABCDEFGHIJKLMNOPQR\0'));
  });

  it('begins one letter later each time and wraps after z', () => {
    expect(pingText(filled(32, 57))).toBe('rdma-ping-57: zABCDEFGHIJKLMNOP');
    expect(pingText(filled(32, 58))).toBe('rdma-ping-58: ABCDEFGHIJKLMNOPQ');
  });

  it('holds the longest heading in the smallest size', () => {
    expect(pingText(filled(MIN_PING_BYTES, 2 ** 31 - 1))).toMatch(/^rdma-ping-2147483647: /);
  });

  it('counts as text up to its first zero byte, or whole without one', () => {
    expect(pingTextBytes(ascii('ab\0cd\0'))).toBe(3);
    expect(pingTextBytes(ascii('abcd'))).toBe(4);
    expect(pingText(ascii('ab\0cd\0'))).toBe('ab');
  });
});
