import { describe, expect, it } from 'vitest';
import {
  ATOMIC_ACK_ETH_BYTES,
  atomicAckHi,
  atomicAckLo,
  readAtomicAckEth,
  writeAtomicAckEth,
} from '../../packets/atomic-ack-eth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('AtomicAckETH', () => {
  const hex = 'f7c65eff0123456f';

  it('writes and reads the original value, as halves and as a bigint', () => {
    expect(written(ATOMIC_ACK_ETH_BYTES, (view, at) => writeAtomicAckEth(view, at, 0xf7_c6_5e_ff, 0x01_23_45_6f))).toBe(
      hex,
    );
    const view = exactView(fromHex(hex));
    expect([atomicAckHi(view, 0), atomicAckLo(view, 0)]).toEqual([0xf7_c6_5e_ff, 0x01_23_45_6f]);
    expect(readAtomicAckEth(view, 0)).toEqual({ original: 0xf7_c6_5e_ff_01_23_45_6fn });
  });
});
