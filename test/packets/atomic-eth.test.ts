import { describe, expect, it } from 'vitest';
import {
  ATOMIC_ETH_BYTES,
  atomicCompareHi,
  atomicCompareLo,
  atomicRkey,
  atomicSwapAddHi,
  atomicSwapAddLo,
  atomicVaHi,
  atomicVaLo,
  readAtomicEth,
  writeAtomicEth,
} from '../../packets/atomic-eth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('AtomicETH', () => {
  const hex = 'f0000001f0000002f0000003f0000004f0000005f0000006f0000007';
  const words = [
    0xf0_00_00_01, 0xf0_00_00_02, 0xf0_00_00_03, 0xf0_00_00_04, 0xf0_00_00_05, 0xf0_00_00_06, 0xf0_00_00_07,
  ] as const;

  it('writes address, key, swap-or-add and compare in this order', () => {
    expect(written(ATOMIC_ETH_BYTES, (view, at) => writeAtomicEth(view, at, ...words))).toBe(hex);
  });

  it('reads them unsigned, as halves and as bigints', () => {
    const view = exactView(fromHex(hex));
    const read = [
      atomicVaHi,
      atomicVaLo,
      atomicRkey,
      atomicSwapAddHi,
      atomicSwapAddLo,
      atomicCompareHi,
      atomicCompareLo,
    ];
    expect(read.map((accessor) => accessor(view, 0))).toEqual(words);
    expect(readAtomicEth(view, 0)).toEqual({
      va: 0xf0_00_00_01_f0_00_00_02n,
      rkey: 0xf0_00_00_03,
      swapAdd: 0xf0_00_00_04_f0_00_00_05n,
      compare: 0xf0_00_00_06_f0_00_00_07n,
    });
  });
});
