/**
 * Goal: a capture that keeps only the beginning of each packet has the conversations of the whole one, and none beside
 * them. Method: one scene, captured whole and with common snapshot lengths.
 */
import { expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import { play } from '../../../../tools/symptoms/scene.ts';

async function endsOf(snapLength: number, cm: boolean) {
  const capture = await play({ seed: 3, snapLength }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { cm });
    for (let i = 0; i < 3; i++) {
      await a.write(b, 5000);
      await a.read(b, 5000);
    }
  });
  const analyzer = new Analyzer();
  for (const packet of readCapture(capture)) analyzer.packet(packet);
  const { conversations, findings } = analyzer.finish();
  return { qpns: conversations.map(({ ends }) => ends.map(({ qpn }) => qpn)), findings };
}

it.each([64, 80, 96, 128, 256])('packets cut to %i bytes are of the same conversations', async (snapLength) => {
  for (const cm of [false, true]) {
    const whole = await endsOf(0, cm);
    expect(whole.qpns).toHaveLength(1);
    expect(await endsOf(snapLength, cm)).toEqual(whole);
  }
});
