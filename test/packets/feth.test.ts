import { describe, expect, it } from 'vitest';
import { FETH_BYTES, fethPlacement, fethSelectivity, readFeth, writeFeth } from '../../packets/feth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('FETH', () => {
  it('writes placement to bits 3-0 and selectivity to bits 5-4, cut to their bits', () => {
    expect(written(FETH_BYTES, (view, at) => writeFeth(view, at, 2, 1))).toBe('00000012');
    expect(written(FETH_BYTES, (view, at) => writeFeth(view, at, 0xff, 0xff))).toBe('0000003f');
  });

  it('reads them, ignoring reserved bits', () => {
    const view = exactView(fromHex('ffffffd9'));
    expect(readFeth(view, 0)).toEqual({ placement: 9, selectivity: 1 });
    expect([fethPlacement(view, 0), fethSelectivity(view, 0)]).toEqual([9, 1]);
  });
});
