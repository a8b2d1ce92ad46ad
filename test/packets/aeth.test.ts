import { describe, expect, it } from 'vitest';
import {
  AETH_BYTES,
  aethMsn,
  aethSyndrome,
  readAeth,
  SYNDROME_KIND_MASK,
  SYNDROME_VALUE_MASK,
  Syndrome,
  SyndromeKind,
  writeAeth,
} from '../../packets/aeth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('AETH', () => {
  it('writes syndrome and MSN, cut to their bits', () => {
    expect(written(AETH_BYTES, (view, at) => writeAeth(view, at, Syndrome.Ack, 6))).toBe('1f000006');
    expect(written(AETH_BYTES, (view, at) => writeAeth(view, at, 0x60, 0x1_00_00_02))).toBe('60000002');
  });

  it('reads them unsigned', () => {
    const view = exactView(fromHex('e0ffffff'));
    expect(readAeth(view, 0)).toEqual({ syndrome: 0xe0, msn: 0xff_ff_ff });
    expect([aethSyndrome(view, 0), aethMsn(view, 0)]).toEqual([0xe0, 0xff_ff_ff]);
  });

  it('sorts the syndromes of wire.md section 7 into kinds', () => {
    const kind = (syndrome: number) => syndrome & SYNDROME_KIND_MASK;
    expect(kind(Syndrome.Ack)).toBe(SyndromeKind.Ack);
    expect(kind(Syndrome.RnrNak | 31)).toBe(SyndromeKind.RnrNak);
    expect(kind(0x5f)).toBe(SyndromeKind.Reserved);
    const { NakSequence, NakInvalidRequest, NakRemoteAccess, NakRemoteOperational } = Syndrome;
    const naks = [NakSequence, NakInvalidRequest, NakRemoteAccess, NakRemoteOperational];
    expect(naks.map(kind)).toEqual(naks.map(() => SyndromeKind.Nak));
    expect(naks.map((syndrome) => syndrome & SYNDROME_VALUE_MASK)).toEqual([0, 1, 2, 3]);
    expect(Syndrome.RnrNak & SYNDROME_VALUE_MASK).toBe(0);
  });
});
