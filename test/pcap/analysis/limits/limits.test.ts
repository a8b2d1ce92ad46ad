/**
 * Goal: what a capture cannot know is said at its top, and no alarm rests on it; what is certain is told all the same.
 * Method: runs on the simulated network, sound ones and ones with losses, captured at the requester, half-way and at the
 * responder, whole and then as a sample, with losses of the capture, one direction of it, and so on.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis, CaptureLimitKind } from '../../../../pcap/analysis/types.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { alarmIds, alarms } from '../detectors/support.ts';
import {
  analyze,
  cut,
  doubled,
  lossy,
  type MadeRun,
  makeRun,
  numbered,
  oneDirection,
  overUc,
  PLACES,
  sampled,
  shifted,
  stepped,
} from './made-captures.ts';

const sound: MadeRun[] = [];
const losing: MadeRun[] = [];

beforeAll(async () => {
  for (const ipVersion of [4, 6] as const) {
    sound.push(
      await makeRun({ ipVersion, seed: 3, rounds: 50 }),
      await makeRun({ ipVersion, seed: 4, work: 'deep', rounds: 8 }),
    );
    losing.push(await makeRun({ ipVersion, seed: 5, work: 'deep', rounds: 20, loss: 0.01 }));
  }
  sound.push(await makeRun({ work: 'send', cm: true, rounds: 30 }), await makeRun({ work: 'both-ways', rounds: 30 }));
});

const kindsOf = ({ limits }: Analysis): CaptureLimitKind[] => limits.map(({ kind }) => kind);

/** Every capture of the runs. */
function capturesOf(
  runs: readonly MadeRun[],
): { readonly run: MadeRun; readonly packets: readonly CapturedPacket[] }[] {
  return runs.flatMap((run) => PLACES.map((place) => ({ run, packets: run.captures[place] })));
}

/** A sound capture made worse has these limits, and no alarm. */
function expectQuiet(worse: (packets: readonly CapturedPacket[]) => CapturedPacket[], kinds: CaptureLimitKind[]): void {
  for (const { packets } of capturesOf(sound)) {
    const analysis = analyze(worse(packets));
    expect([kindsOf(analysis), alarms(analysis)]).toEqual([kinds, []]);
  }
}

/** Losses of requests and responses as they are told, of all conversations. */
function told({ conversations }: Analysis) {
  const all = conversations.flatMap(({ ends }) => ends.map(({ requester }) => requester));
  const sum = (of: (each: (typeof all)[number]) => number): number => all.reduce((so, each) => so + of(each), 0);
  return {
    requests: sum(({ lostPackets }) => lostPackets),
    responses: sum(({ responses }) => responses.lostPackets),
    undecided: sum(({ undecidedPackets, responses }) => undecidedPackets + responses.undecidedPackets),
  };
}

it('a whole capture has no limit, with losses of the network or without', () => {
  for (const { packets } of capturesOf([...sound, ...losing])) expect(kindsOf(analyze(packets))).toEqual([]);
});

describe('a sample', () => {
  it.each([2, 10, 100])('of one in %i is known for one, about so large, and alarms of nothing', (n) => {
    // Of a short capture too little is left of one in a hundred.
    for (const { packets } of capturesOf(n === 100 ? sound.slice(1, 2) : sound.slice(0, 4))) {
      const analysis = analyze(sampled(packets, n));
      expect([kindsOf(analysis), alarms(analysis)]).toEqual([['sampled'], []]);
      const oneIn = Number(analysis.limits[0]?.evidence['oneIn']);
      expect(oneIn / n).toBeGreaterThan(0.5);
      expect(oneIn / n).toBeLessThan(2.2);
    }
  });

  it('may be every tenth packet, too', () => {
    for (const { packets } of capturesOf(sound.slice(0, 4))) {
      const analysis = analyze(sampled(packets, 10, 'counted'));
      expect([kindsOf(analysis), alarms(analysis)]).toEqual([['sampled'], []]);
    }
  });

  it('tells no more losses than there were, and those that a NAK proves', () => {
    let proven = 0;
    for (const { run, packets } of capturesOf(losing)) {
      for (const n of [2, 10]) {
        const analysis = analyze(sampled(packets, n));
        const { requests, responses } = told(analysis);
        // One may be named twice, where the sample lacks the NAK between.
        expect(requests).toBeLessThanOrEqual(run.lostRequests + 1);
        expect(responses).toBeLessThanOrEqual(run.lostResponses + 1);
        expect(alarmIds(analysis).filter((id) => !PROVEN.has(id))).toEqual([]);
        if (alarmIds(analysis).includes('sequence-error')) proven++;
      }
    }
    expect(proven).toBeGreaterThan(0);
  });
});

describe('a capture that loses packets', () => {
  it.each([0.001, 0.01, 0.05])('a share of %f: says so and alarms of nothing', (share) => {
    for (const { packets } of capturesOf(sound)) {
      const analysis = analyze(lossy(packets, share));
      expect(alarms(analysis)).toEqual([]);
      if (share > 0.001) expect(kindsOf(analysis)).toEqual(['capture-loss']);
    }
  });

  it('in bursts is no sample', () => {
    for (const { packets } of capturesOf(sound.slice(0, 4))) {
      for (const share of [0.05, 0.3]) {
        const analysis = analyze(lossy(packets, share, 12));
        expect([kindsOf(analysis), alarms(analysis)]).toEqual([['capture-loss'], []]);
      }
    }
  });

  it('does not take its own losses for those of the network', () => {
    for (const { run, packets } of capturesOf(losing)) {
      const whole = told(analyze(packets));
      for (const share of [0.01, 0.05]) {
        const analysis = analyze(lossy(packets, share));
        const { requests, responses, undecided } = told(analysis);
        expect(requests).toBeLessThanOrEqual(run.lostRequests + 1);
        expect(responses).toBeLessThanOrEqual(run.lostResponses + 1);
        // Nearly all that the whole capture tells is told, or is said to be undecided.
        expect(requests + responses + undecided).toBeGreaterThanOrEqual(0.8 * (whole.requests + whole.responses));
        expect(alarmIds(analysis)).toEqual(expect.arrayContaining(['implied-nak', 'sequence-error']));
        expect(analysis.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
      }
    }
  });
});

describe('events of a capture that lacks packets', () => {
  /** Packets in events of this kind, and what a later event takes back. */
  function inEvents({ events }: Analysis, kind: 'loss' | 'missing'): number {
    const back = events.filter(({ reason }) => reason === 'after-retransmission' || reason === 'came-twice');
    expect(back).toEqual([]);
    return events.reduce((sum, each) => sum + (each.kind === kind ? each.count : 0), 0);
  }

  it('say the same as its totals: what nobody asked for is missing, and what a NAK names is lost', () => {
    let [lost, missing] = [0, 0];
    for (const { packets } of capturesOf(losing)) {
      for (const worse of [sampled(packets, 2), sampled(packets, 10), lossy(packets, 0.01), lossy(packets, 0.05, 12)]) {
        const analysis = analyze(worse);
        const { requests, responses, undecided } = told(analysis);
        expect([inEvents(analysis, 'loss'), inEvents(analysis, 'missing')]).toEqual([requests + responses, undecided]);
        expect(analysis.events.filter(({ kind, named }) => kind === 'loss' && named !== true)).toEqual([]);
        lost += requests + responses;
        missing += undecided;
      }
    }
    expect([lost > 0, missing > 0]).toEqual([true, true]);
  });

  it('are those of the live stream where the capture has everything', () => {
    for (const { packets } of capturesOf(losing)) {
      const live: unknown[] = [];
      const analyzer = new Analyzer({ onEvent: (event) => live.push(event) });
      for (const packet of packets) analyzer.packet(packet);
      expect(analyzer.finish().events).toEqual(live);
    }
  });

  it('of UC stay losses of either where few packets are missing, and are undecided in a sample', () => {
    const [uc] = capturesOf(sound.slice(4, 5)).map(({ packets }) => overUc(packets));
    const kinds = ({ events }: Analysis) => [...new Set(events.map(({ kind, reason }) => `${kind} ${reason}`))];
    expect(kinds(analyze(lossy(uc ?? [], 0.05)))).toEqual(['loss service-without-acks']);
    expect(kinds(analyze(sampled(uc ?? [], 4)))).toEqual(['missing incomplete-capture']);
  });
});

describe('one direction', () => {
  it('is known from either end, and silence is no alarm', () => {
    for (const { packets } of capturesOf(sound.slice(0, 4))) {
      for (const station of [1, 2] as const) {
        const analysis = analyze(oneDirection(packets, station));
        expect([kindsOf(analysis), alarms(analysis)]).toEqual([['one-direction'], []]);
        expect(analysis.limits[0]?.conversations).toEqual(analysis.conversations.map(({ id }) => id));
      }
    }
  });

  it('with losses of the network shows no requester that gives up', () => {
    for (const { packets } of capturesOf(losing)) {
      for (const station of [1, 2] as const) {
        const analysis = analyze(oneDirection(packets, station));
        expect(kindsOf(analysis)).toContain('one-direction');
        expect(analysis.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
      }
    }
  });
});

it.each([0, 300, 2000])('frames shown twice, %i ns apart, are said to be', (byNs) => {
  expectQuiet((packets) => doubled(packets, byNs), ['doubled']);
});

it('a network that doubles one frame in ten is no mirror', () => {
  const { packets } = capturesOf(sound)[0] ?? { packets: [] };
  const some = packets.flatMap((packet, i) => (i % 10 === 0 ? [packet, packet] : [packet]));
  expect(kindsOf(analyze(numbered(some)))).toEqual([]);
});

it('packets cut to their headers are said to be', () => {
  expectQuiet((packets) => cut(packets, 90), ['cut']);
});

describe('a clock', () => {
  it.each([-5e9, -60e9, 60e9])('that steps by %f ns is told of', (byNs) => {
    for (const { packets } of capturesOf(sound.slice(0, 2))) {
      const analysis = analyze(stepped(packets, byNs));
      expect([kindsOf(analysis), alarms(analysis)]).toEqual([['clock-step'], []]);
      expect(Number(analysis.limits[0]?.evidence['largestNs']) / byNs).toBeCloseTo(1, 2);
    }
  });

  it('that goes back hides what overtook what', () => {
    for (const { run, packets } of capturesOf(losing)) {
      const [first, ...rest] = packets;
      const later = first === undefined ? [] : [first, ...rest.map((packet) => shifted(packet, 100e9))];
      const analysis = analyze(stepped(later, -5e9));
      expect(told(analysis).requests).toBeLessThanOrEqual(run.lostRequests);
      expect(analysis.conversations[0]?.ends[0].requester.reorderedPackets).toBeLessThanOrEqual(2);
    }
  });

  it('is right where nobody sent for a minute, and where queues of a capture are out of order', () => {
    const packets = sound[0]?.captures.requester ?? [];
    const first = packets.findIndex(({ bytes }, i) => i > 40 && bytes[11] === 1 && packets[i - 1]?.bytes[11] === 2);
    const paused = packets.map((packet, i) => (i < first ? packet : shifted(packet, 60e9)));
    expect(kindsOf(analyze(paused))).toEqual([]);
    const disordered = packets.map((packet, i) => (i % 7 === 0 ? shifted(packet, -2e6) : packet));
    expect(kindsOf(analyze(disordered))).toEqual([]);
  });
});

describe('UC', () => {
  it('in a sample loses nothing for certain, and in a whole capture has no limit', () => {
    for (const { packets } of capturesOf(sound.slice(4, 5))) {
      const uc = overUc(packets);
      expect([kindsOf(analyze(uc)), alarms(analyze(uc))]).toEqual([[], []]);
      const analysis = analyze(sampled(uc, 4));
      expect([kindsOf(analysis), alarms(analysis)]).toEqual([['sampled'], []]);
    }
  });
});

describe('the place of a capture', () => {
  it('follows from round trips', () => {
    for (const run of [...sound.slice(0, 4), ...losing]) {
      const places = PLACES.map((place) => analyze(run.captures[place]).vantages[0]?.place);
      expect(places).toEqual(['near-requester', 'middle', 'near-responder']);
    }
  });

  it('is next to one host, where both send requests', () => {
    const run = sound.at(-1);
    const seen = PLACES.map((place) => analyze(run?.captures[place] ?? []).vantages[0]);
    expect(seen.map((vantage) => [vantage?.place, vantage?.hosts])).toEqual([
      ['near-host', ['10.0.0.1']],
      ['middle', []],
      ['near-host', ['10.0.0.2']],
    ]);
  });
});

/** Alarms that packets of the capture prove, whatever is missing in it. */
const PROVEN: ReadonlySet<string> = new Set(['sequence-error', 'implied-nak']);
