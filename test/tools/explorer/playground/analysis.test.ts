/**
 * Goal: what the playground hands over, the analysis understands: it finds in a lesson's capture what the lesson is
 * about, and nothing where nothing is wrong. Method: every lesson is followed to its end and analyzed as the receiver
 * saw it.
 */
import { describe, expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { LESSONS } from '../../../../tools/explorer/lessons/index.ts';
import { followStep, PlaygroundSession, parseLesson } from '../../../../tools/explorer/playground/index.ts';

function analyzed(id: string) {
  const lesson = LESSONS.map((value) => parseLesson(value)).find((one) => one.id === id);
  if (lesson === undefined) throw new Error(`there is no lesson ${id}`);
  const session = new PlaygroundSession(lesson.scenario);
  for (const step of lesson.steps) followStep(step, session);
  const analyzer = new Analyzer();
  for (const packet of session.captured(lesson.scenario.hosts - 1)) analyzer.packet(packet);
  const { findings, events, capture } = analyzer.finish();
  return { findings, kinds: new Set<string>(events.map(({ kind }) => kind)), capture };
}

describe('the analysis of a lesson', () => {
  it.each([
    ['lost-packet', ['nak', 'loss', 'retransmission']],
    ['lost-ack', ['timeout', 'retransmission']],
    ['lost-last-packet', ['timeout', 'retransmission']],
    ['receiver-not-ready', ['rnr-nak', 'retransmission']],
    ['read-implied-nak', ['implied-nak', 'retransmission']],
    ['psn-wrap', ['nak', 'retransmission']],
    ['reordering', ['nak', 'reordering']],
    ['wrong-icrc', ['bad-icrc']],
    ['ecn-cnp', ['ce-mark', 'cnp']],
    ['dcqcn-under-incast', ['ce-mark', 'cnp']],
  ])('%s finds %j', (id, expected) => {
    const { kinds } = analyzed(id);
    expect(expected.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it.each(['one-send', 'write-in-packets', 'mtu-and-segmentation', 'ecn-cnp', 'dcqcn-under-incast'])(
    '%s finds nothing wrong',
    (id) => {
      const { findings, capture } = analyzed(id);
      expect(findings.map((finding) => finding.id)).toEqual([]);
      expect(capture.rocePackets).toBe(capture.packets);
    },
  );

  it('connection-management finds the refusal, and nothing in messages that were repeated', () => {
    const { findings, kinds } = analyzed('connection-management');
    expect(findings.map(({ id, severity }) => [id, severity])).toEqual([['connection-refused', 'note']]);
    expect([...kinds]).toEqual([]);
  });

  it('bad-key finds why the connection broke', () => {
    expect(analyzed('bad-key').findings.map(({ id, severity }) => [id, severity])).toEqual([
      ['remote-access-error', 'error'],
    ]);
  });
});
