import { describe, expect, it } from 'vitest';
import { ROCE_UDP_PORT, readUdp, UDP_BYTES, writeUdp } from '../../packets/udp.ts';
import { exactView, fromHex, written } from './support.ts';

describe('UDP', () => {
  it('writes and reads ports, length and checksum', () => {
    expect(written(UDP_BYTES, (view, at) => writeUdp(view, at, 0xc0_01, ROCE_UDP_PORT, 0x418, 0xbe_ef))).toBe(
      'c00112b70418beef',
    );
    expect(readUdp(exactView(fromHex('c00112b70418beef')), 0)).toEqual({
      sourcePort: 0xc0_01,
      destPort: 4791,
      length: 0x418,
      checksum: 0xbe_ef,
    });
  });
});
