/**
 * Goal: what a capture cannot know is not blamed on what did not happen: headers that were cut, packets that another
 * member of a LAG has, requests that are there with a wrong ICRC.
 * Method: packets line by line, kept as such captures would.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { analyze, findingOf } from '../detectors/support.ts';
import { damaged, Script } from '../tracker/script.ts';

const cut = (packet: CapturedPacket, length: number): CapturedPacket => ({
  ...packet,
  bytes: packet.bytes.subarray(0, length),
});

function textsOf({ limits }: ReturnType<typeof analyze>): string[] {
  return limits.map(({ text }) => text);
}

describe('packets whose headers were cut', () => {
  const writes = (): Script => {
    const script = new Script();
    for (let psn = 0; psn < 60; psn += 3)
      script
        .a(Op.WriteFirst, psn, { length: 2148 })
        .a(Op.WriteMiddle, psn + 1)
        .a(Op.WriteLast, psn + 2)
        .ack(psn + 2);
    return script;
  };

  it('are named, and not told to be lost by the capture only', () => {
    const analysis = analyze(writes().packets.map((packet) => cut(packet, 64)));
    expect(textsOf(analysis)[0]).toMatch(
      /that the receiver had: the capture lost them, or has cut their headers \(of 20 packets\), not the network\.$/,
    );
  });

  it('are not named where none is cut', () => {
    const analysis = analyze(writes().packets.filter((_, index) => index % 12 !== 5));
    expect(textsOf(analysis)[0]).toMatch(/that the receiver had: the capture lost them, not the network\.$/);
  });
});

describe('packets of the same queue pairs on two interfaces', () => {
  const HINT = 'Another interface has such packets: the members of a LAG are analyzed with --interfaces-together.';
  /** Each run of thirty SENDs is seen where `seenBy` says. */
  const texts = (seenBy: (round: number) => readonly number[]): string[] => {
    const script = new Script();
    for (let round = 0; round < 12; round++)
      for (const index of seenBy(round)) {
        script.on(index);
        for (let psn = 30 * round; psn < 30 * round + 30; psn++) script.a(Op.SendOnly, psn).ack(psn);
      }
    return textsOf(script.analyze()).filter((text) => text.includes('capture lost them'));
  };

  it('are those of a LAG when each lacks what the other has', () => {
    const told = texts((round) => [round % 2]);
    expect(told).toHaveLength(2);
    for (const text of told) expect(text.endsWith(HINT)).toBe(true);
  });

  it('are none of a LAG when one has all, or both have most', () => {
    const one = texts((round) => (round % 2 === 0 ? [0, 1] : [0]));
    expect(one).toHaveLength(1);
    expect(one[0]).not.toContain(HINT);
    const most = texts((round) => (round === 3 ? [0] : round === 6 ? [1] : [0, 1]));
    expect(most).toHaveLength(2);
    for (const text of most) expect(text).not.toContain(HINT);
  });
});

describe('requests with a wrong ICRC that are answered', () => {
  const script = new Script();
  for (let psn = 0; psn < 40; psn++) script.see(damaged(script.fromA(Op.SendOnly, psn))).ack(psn);
  script.nak(41);
  const analysis = script.analyze();

  it('are said to be there, and how to analyze them', () => {
    expect(textsOf(analysis)[0]).toContain('and nothing with a right ICRC of what 192.0.2.1 sent.');
    expect(findingOf(analysis, 'icrc-invalid').advice?.at(-1)).toMatch(/^Analyze it with --no-icrc/);
  });

  it('are not said to be sent once', () => {
    expect(findingOf(analysis, 'sequence-error').text).toMatch(/; the receiver sent 1 sequence NAK\.$/);
  });

  it('are not mentioned where no ICRC is wrong', () => {
    const answers = new Script();
    for (let psn = 0; psn < 40; psn++) answers.ack(psn);
    expect(textsOf(answers.analyze())[0]).toContain('and nothing of what 192.0.2.1 sent.');
  });
});
