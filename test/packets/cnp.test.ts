import { describe, expect, it } from 'vitest';
import { CNP_BYTES, readCnp, writeCnp } from '../../packets/cnp.ts';
import { exactView, fromHex, written } from './support.ts';

/**
 * ref:wire#9: UDP payload of a hardware CNP without its ICRC, which cannot be checked because the IP header is not
 * published.
 */
const GOLDEN = '8100ffff400000d2000000000000000000000000000000000000000000000000'.slice(0, 2 * CNP_BYTES);

describe('CNP', () => {
  it('is the golden CNP of wire.md section 9, byte for byte', () => {
    expect(CNP_BYTES).toBe(28);
    expect(written(CNP_BYTES, (view, at) => writeCnp(view, at, 0xff_ff, 0xd2, 1))).toBe(GOLDEN);
  });

  it('leaves BECN out when told so, and carries the P_Key', () => {
    expect(written(CNP_BYTES, (view, at) => writeCnp(view, at, 0x80_01, 0x12_34_56, 0))).toBe(
      `8100800100123456${'00'.repeat(20)}`,
    );
  });

  it('is read back, whatever the reserved bytes hold', () => {
    const noise = fromHex(GOLDEN.slice(0, 24) + 'a5'.repeat(16));
    expect(readCnp(exactView(noise), 0)).toEqual({ pkey: 0xff_ff, destQpn: 0xd2, becn: 1 });
  });
});
