/**
 * Goal: a requester that sends again only what was lost is not told to have had late packets, seen at the responder
 * without identifications that count; one that goes back is told as before.
 * Method: packets line by line. B asks for a packet that is missing, and it comes alone.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { findingOf } from '../detectors/support.ts';
import { eventsOf, Script } from '../tracker/script.ts';

/** Ten SENDs of which the third is missing until B has asked for it. */
function repair(script: Script, first: number): void {
  script
    .sends(first, first + 1)
    .sends(first + 3, first + 3)
    .nak(first + 2);
  script.sends(first + 4, first + 6).a(Op.SendOnly, first + 2);
  script.sends(first + 7, first + 9).ack(first + 9);
}

function told(script: Script): { analysis: Analysis; counts: number[]; story: string } {
  const analysis = script.analyze();
  const { requester } = analysis.conversations[0]?.ends[0] ?? {};
  const counts = [
    requester?.lostPackets,
    requester?.reorderedPackets,
    requester?.undecidedPackets,
    requester?.retransmittedPackets,
  ].map((count) => count ?? -1);
  return { analysis, counts, story: findingOf(analysis, 'sequence-error').text };
}

describe('a requester that repeats only what was lost', () => {
  it('has losses from the third on, and has sent them again', () => {
    const script = new Script({ ids: 'ipv6' });
    for (const first of [0, 10, 20]) repair(script, first);
    const { analysis, counts, story } = told(script);
    expect(counts).toEqual([3, 0, 0, 3]);
    expect(story).toContain(
      '3 (10 %) were lost and never turned up; the receiver sent 3 sequence NAKs, and 3 packets were',
    );
    const losses = analysis.events.filter(({ kind }) => kind === 'loss');
    expect(losses.map(({ named, reason }) => [named, reason])).toEqual([1, 2, 3].map(() => [true, undefined]));
    expect(eventsOf(analysis)).not.toContain('reordering 2');
  });

  it('cannot be told after two, as the NAKs may have been lost', () => {
    const script = new Script({ ids: 'constant' });
    for (const first of [0, 10]) repair(script, first);
    const { analysis, counts, story } = told(script);
    expect(counts).toEqual([0, 0, 2, 2]);
    expect(story).toContain('2 did not arrive in order, lost or overtaken, which cannot be told from here;');
    expect(analysis.events.filter(({ kind }) => kind === 'missing').map(({ reason }) => reason)).toEqual([
      'filled-alone',
      'filled-alone',
    ]);
  });

  it('is none when it goes back once: then the others were late', () => {
    const script = new Script({ ids: 'ipv6' });
    for (const first of [0, 10, 20]) repair(script, first);
    script.sends(30, 31).sends(33, 34).nak(32).sends(32, 34).ack(34);
    const { counts } = told(script);
    expect(counts).toEqual([1, 3, 0, 3]);
  });

  it('has late packets beside, for which nobody asked', () => {
    const script = new Script({ ids: 'ipv6' });
    for (const first of [0, 10, 20]) repair(script, first);
    script.sends(30, 31).sends(33, 33).sends(32, 32).sends(34, 36).ack(36);
    const { analysis, counts } = told(script);
    expect(counts).toEqual([3, 1, 0, 3]);
    expect(eventsOf(analysis).filter((event) => event.startsWith('reordering'))).toEqual(['reordering 32']);
  });

  it('is none where nobody asked', () => {
    const script = new Script({ ids: 'ipv6' });
    for (let first = 0; first < 30; first += 5)
      script
        .sends(first, first + 1)
        .sends(first + 3, first + 3)
        .sends(first + 2, first + 2)
        .sends(first + 4, first + 4);
    const { analysis, counts } = told(script.ack(29));
    expect(counts).toEqual([0, 6, 0, 0]);
    expect(analysis.events.every(({ kind }) => kind === 'reordering')).toBe(true);
  });
});
