/**
 * Goal: interfaces that saw the same frames and are not compared are said to be, and nothing is told of what happened
 * between them; interfaces that share none are not mentioned. Method: one direction at two interfaces, one behind the
 * other in the capture by some number of frames, as mergecap puts captures whose clocks differ.
 */
import { expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { Script } from '../tracker/script.ts';

/** Frames of A at interface 0, and each `lead` frames later at interface 1. */
function apart(frames: number, lead: number): Analysis {
  const script = new Script();
  const sent: Uint8Array[] = [];
  for (let i = 0; i < frames + lead; i++) {
    if (i < frames) {
      const frame = script.fromA(Op.SendOnly, i, { payload: 8 });
      sent.push(frame);
      script.on(0).see(frame);
    }
    const again = sent[i - lead];
    if (again !== undefined) script.on(1).see(again);
  }
  return script.analyze();
}

const notCompared = ({ limits }: Analysis) => limits.filter(({ kind }) => kind === 'not-compared');

it.each([
  ['that were recognized, and are further apart than what is waited for', 20_000],
  ['the second of which begins when no pair is looked for any more', 34_000],
])('interfaces %s', (_, frames) => {
  const analysis = apart(frames, frames);
  expect(notCompared(analysis)).toMatchObject([{ interfaces: [0, 1] }]);
  expect(analysis.paths).toEqual([]);
});

it('interfaces that are near enough are compared, and nothing is wrong', () => {
  const analysis = apart(6000, 2000);
  expect(notCompared(analysis)).toEqual([]);
  expect(analysis.paths).toMatchObject([{ frames: 6000, effects: { dropped: 0, duplicated: 0 } }]);
});

it('two rails that share no frame are not mentioned', () => {
  const script = new Script();
  for (let i = 0; i < 35_000; i++) script.on(i % 2).a(Op.SendOnly, i >> 1, { payload: 8, qpn: 0xb1 + (i % 2) });
  expect(notCompared(script.analyze())).toEqual([]);
});
