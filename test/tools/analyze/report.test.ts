/**
 * Goal: the report says what an analysis holds, in bounds, whatever it holds. Method: the analysis of a capture with
 * CNPs, changed by hand into what captures rarely have: several interfaces, VLANs, thousands of conversations, things
 * omitted.
 */
import { describe, expect, it } from 'vitest';
import type {
  Analysis,
  CaptureLimit,
  ConversationReport,
  EndReport,
  Finding,
  Vantage,
} from '../../../pcap/analysis/types.ts';
import { analyzeChunks, packetComments, type ReportOptions, reportLines } from '../../../tools/analyze/index.ts';
import { bytesText, durationText, framesText, latencyText, rateText, wrap } from '../../../tools/analyze/words.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const scene = allScenes().find(({ name }) => name === 'ecn-works');
const { analysis } = await analyzeChunks(once((await scene?.make()) ?? new Uint8Array(0)));
const OPTIONS: ReportOptions = {
  name: 'FILE.pcap',
  interfaces: ['eth0'],
  conversations: [],
  events: false,
  verbose: false,
};
const [first] = analysis.conversations;
if (first === undefined) throw new Error('the scene has a conversation');

const report = (change: Partial<Analysis>, options: Partial<ReportOptions> = {}): string =>
  reportLines({ ...analysis, ...change }, { ...OPTIONS, ...options }).join('\n');

const conversation = (change: Partial<ConversationReport>, end: Partial<EndReport> = {}): ConversationReport => ({
  ...first,
  ...change,
  ends: [{ ...first.ends[0], ...end }, first.ends[1]],
});

const FINDING: Finding = {
  id: 'rule/read-length',
  severity: 'error',
  text: 'A READ of 5 bytes is answered with 6.',
  frames: Array.from({ length: 20 }, (_, at) => at + 3),
  frameCount: 1234,
  conversations: [1],
  evidence: { bytes: 6, kinds: ['a', 'b'] },
  advice: ['Look at the sender.'],
  commands: ["roce dump -v FILE 'frame 3'", 'ethtool -S DEV'],
};

describe('what a capture cannot know', () => {
  const limit: CaptureLimit = {
    kind: 'sampled',
    text: 'About one in 10 packets is here.',
    interfaces: [1],
    conversations: [],
    frames: [],
    evidence: { oneIn: 10 },
  };
  const vantage: Vantage = {
    interfaceIndex: 0,
    place: 'near-requester',
    hosts: ['10.0.0.1'],
    packets: 9,
    evidence: {},
  };

  it('comes first, and no alarm is not all well', () => {
    const lines = report({ findings: [], limits: [limit], vantages: [vantage] }).split('\n');
    expect(lines.slice(0, 5)).toEqual([
      'FILE.pcap: nothing found that is wrong, as far as this capture can show',
      '',
      'captured   next to 10.0.0.1, which sends the requests',
      'limit      About one in 10 packets is here.',
      '',
    ]);
  });

  it('names interfaces where there are several', () => {
    const text = report({ limits: [limit], vantages: [vantage] }, { interfaces: ['eth0', 'eth1'] });
    expect(text).toMatch(/^captured {3}eth0 next to 10\.0\.0\.1, which sends the requests$/m);
    expect(text).toMatch(/^limit {6}eth1: About one in 10 packets is here\.$/m);
  });

  it('is not there where nothing is to be said', () => {
    const text = report({ findings: [], limits: [], vantages: [{ ...vantage, place: 'unknown', hosts: [] }] });
    expect(text).toMatch(/^FILE\.pcap: nothing found that is wrong\n\ncapture {4}/);
  });
});

describe('a report', () => {
  it('tells marks, CNPs and their pace', () => {
    const text = report({});
    expect(text).toMatch(/^ {2}ECN of what it sent +.*ECT\(0\).* CE/m);
    expect(text).toMatch(/^ {2}CNPs sent +40, 56 us or more apart, DSCP 48$/m);
    const [left, right] = first.ends;
    const paced = { ...right, congestion: { ...right.congestion, cnpPacingNs: 50_000 } };
    expect(report({ conversations: [{ ...first, ends: [left, paced] }] })).toMatch(
      /^ {2}CNPs sent +40, one each 50 us, DSCP 48$/m,
    );
  });

  it('tells what of a finding there is too much of, and names the file in commands of ours', () => {
    const text = report({ findings: [FINDING] }, { verbose: true });
    expect(text.split('\n').slice(0, 11)).toEqual([
      'FILE.pcap: 1 error',
      '',
      'ERROR rule/read-length',
      '  A READ of 5 bytes is answered with 6.',
      '  packets  3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 1,224 more, conversation 1',
      '  figures  bytes 6, kinds a b',
      '  do       Look at the sender.',
      "  run      roce dump -v FILE.pcap 'frame 3'",
      '           ethtool -S DEV',
      '  more     docs/symptoms.md#rules-of-the-protocol',
      '',
    ]);
  });

  it('counts findings by severity, the worst first', () => {
    const findings = (['error', 'warning', 'warning', 'note'] as const).map((severity) => ({ ...FINDING, severity }));
    expect(report({ findings }).split('\n')[0]).toBe('FILE.pcap: 1 error, 2 warnings, 1 note');
  });

  it('shows only what is about the conversations asked for', () => {
    const conversations = [first, conversation({ id: 2 })];
    const findings = [FINDING, { ...FINDING, id: 'other', conversations: [2] }];
    const text = report({ conversations, findings }, { conversations: [2] });
    expect(text).toContain('ERROR other');
    expect(text).not.toContain('rule/read-length');
    expect(text.match(/^conversation \d+/gm)).toEqual(['conversation 2']);
  });

  it('stays short where there are thousands of conversations: those in full that findings are about', () => {
    const conversations = Array.from({ length: 3000 }, (_, at) => conversation({ id: at + 1 }));
    const findings = [{ ...FINDING, conversations: [2500, 7] }];
    const text = report({ conversations, findings, conversationsOmitted: 12 });
    expect(text.split('\n').length).toBeLessThan(250);
    expect(text).toContain('  2,900 more: --conversation N shows one, --json all');
    expect(text).toContain('  12 more were not followed');
    expect(text.match(/^conversation \d+/gm)).toEqual(['conversation 7', 'conversation 2500']);
  });

  it('names interfaces, twins and VLANs', () => {
    const conversations = [conversation({ interfaceIndex: 1, sameAs: 4 }, { vlan: 5, vlanPriority: 3 })];
    const text = report({ conversations }, { interfaces: ['eth0', 'eth1'] });
    expect(text).toMatch(/, interface eth1, the same as conversation 4\s+at another interface/);
    expect(text).toMatch(/^ {2}VLAN +5, priority 3/m);
  });

  it('tells what happened between interfaces', () => {
    const effects = { dropped: 3, duplicated: 0, held: 1, marked: 0, corrupted: 0, rewritten: 0, inserted: 0 };
    const clock = { offsetNs: 0, uncertaintyNs: 2000, driftPpm: 0 };
    const transit = { shortestNs: 2000, medianNs: 2000, heldBeyondNs: 4000 };
    const path = { notJudged: 0, clock, transit, events: [], eventsOmitted: 0 };
    const paths = [
      { ...path, from: 0, to: 1, frames: 1200, effects },
      { ...path, from: 1, to: 0, frames: 5, effects: { ...effects, dropped: 0, held: 0 } },
    ];
    const text = report({ paths }, { interfaces: ['left', ''] });
    expect(text).toMatch(/^ {2}left to 1 +1,200 {2}3 dropped, 1 held$/m);
    expect(text).toMatch(/^ {2}1 to left +5 {2}as they came$/m);
  });

  it('says what of the capture cannot be known', () => {
    const capture = { ...analysis.capture, goodIcrc: 10, badIcrc: 2, cutPackets: 7, captureDrops: 9 };
    const text = report({ capture });
    expect(text).toMatch(/^RoCEv2 .*; 10 ICRCs are right, 2 wrong, \d+ not known$/m);
    expect(text).toMatch(/^cut +7 packets/m);
    expect(text).toMatch(/^dropped +9 packets/m);
  });

  it('has something to say of nothing at all', () => {
    const none = { findings: [], conversations: [], events: [], eventsOmitted: 3 };
    const text = report(none, { events: true });
    expect(text).toContain('FILE.pcap: nothing found that is wrong');
    expect(text).toContain('no conversations');
    expect(text).toContain('no transport events\n  3 more were not kept');
  });
});

describe('comments', () => {
  it('stand on the packets that show something, findings before events', () => {
    const [event] = analysis.events;
    if (event === undefined) throw new Error('the scene has events');
    const comments = packetComments({
      ...analysis,
      findings: [{ ...FINDING, frames: [event.frame] }],
      events: [event],
    });
    expect([...comments.keys()]).toEqual([event.frame]);
    expect(comments.get(event.frame)?.[0]).toBe(`roce error, rule/read-length: ${FINDING.text}`);
    expect(comments.get(event.frame)?.[1]).toMatch(new RegExp(`^roce: ${event.kind}`));
  });
});

describe('words', () => {
  it('have three digits and a unit', () => {
    expect([0, 512, 80_200, 67e6, 1.534e9, 3600e9].map(durationText)).toEqual([
      '0 ns',
      '512 ns',
      '80.2 us',
      '67 ms',
      '1.53 s',
      '3,600 s',
    ]);
    expect([0, 12, 1500, 320e6, 9.432e9, 4e12].map(rateText)).toEqual([
      '0 b/s',
      '12 b/s',
      '1.5 kb/s',
      '320 Mb/s',
      '9.43 Gb/s',
      '4 Tb/s',
    ]);
    expect([999, 1000, 552_798].map(bytesText)).toEqual(['999 B', '1 kB', '553 kB']);
    const latency = { count: 0, minNs: 0, p50Ns: 1000, p99Ns: 2000, maxNs: 3000, meanNs: 0 };
    expect([0, 1, 5].map((count) => latencyText({ ...latency, count }))).toEqual(['-', '3 us', '1 us / 2 us / 3 us']);
    expect(framesText([1, 2], 2)).toBe('1, 2');
  });

  it('are broken at blanks, but not between a number and its unit', () => {
    expect(wrap('it took 7.79 us in all', 'a  ', 15)).toEqual(['a  it took', '   7.79 us in', '   all']);
    expect(wrap('a-word-that-is-longer-than-a-line and more', '', 10)).toEqual([
      'a-word-that-is-longer-than-a-line',
      'and more',
    ]);
    expect(wrap('', 'x  ')).toEqual(['x']);
  });
});
