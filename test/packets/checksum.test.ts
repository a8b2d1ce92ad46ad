import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  finishChecksum,
  ipv4ChecksumMatches,
  ipv4HeaderChecksum,
  onesComplementSum,
  pseudoHeaderSum,
} from '../../packets/checksum.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { exactView, flipBit, fromHex, viewOf } from './support.ts';

const ETHERNET = 14;

describe('Internet checksum', () => {
  it('matches the header checksum of every rxe frame, and of none with one bit inverted', () => {
    for (const { hex } of RXE_FRAMES) {
      const header = fromHex(hex).slice(ETHERNET, ETHERNET + 20);
      const view = exactView(header);
      expect(ipv4HeaderChecksum(view, 0)).toBe(view.getUint16(10));
      expect(ipv4ChecksumMatches(view, 0)).toBe(true);
      for (let bit = 0; bit < 160; bit++) expect(ipv4ChecksumMatches(viewOf(flipBit(header, bit)), 0)).toBe(false);
    }
  });

  it('counts an odd last byte as the high half of a word', () => {
    const view = exactView(fromHex('0102 03'));
    expect(onesComplementSum(view, 0, 3, 0)).toBe(0x0102 + 0x0300);
    expect(onesComplementSum(view, 1, 1, 7)).toBe(7);
  });

  it('folds the carry of a run as long as a packet can be', () => {
    const view = new DataView(new Uint8Array(65_535).fill(0xff).buffer);
    expect(finishChecksum(onesComplementSum(view, 0, 65_534, 0))).toBe(0);
    expect(finishChecksum(0x1_ff_ff)).toBe(0xff_ff - 1);
  });

  it('does not depend on where a run is cut, if it is cut at an even length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(40), (bytes, words) => {
        const view = exactView(bytes);
        const cut = Math.min(2 * words, bytes.length & ~1);
        const whole = onesComplementSum(view, 0, bytes.length, 0);
        expect(onesComplementSum(view, cut, bytes.length, onesComplementSum(view, 0, cut, 0))).toBe(whole);
      }),
    );
  });

  it('sums addresses, protocol and length of the pseudo-header, of both versions', () => {
    const v4 = exactView(fromHex('4502004c4c1e4000401113bc 0a4d0002 0a4d0001'));
    expect(pseudoHeaderSum(v4, 0, 4, 17, 56)).toBe(0x0a4d + 2 + 0x0a4d + 1 + 17 + 56);
    const v6 = exactView(fromHex(`6000000000383a40 fe80${'00'.repeat(13)}01 ff02${'00'.repeat(13)}02`));
    expect(pseudoHeaderSum(v6, 0, 6, 58, 56)).toBe(0xfe80 + 1 + 0xff02 + 2 + 58 + 56 - 0xff_ff);
  });
});
