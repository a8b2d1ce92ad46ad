/**
 * Goal: an experiment can say how its hosts react to congestion and what its wires do about it, and leaves rates that
 * can be read and judged. Method: two stacks in this process, a wire that marks and notifies; the watcher alone with
 * hosts whose rates are made up.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Frame, Medium, OpFlag, parseFrame } from '../../../packets/index.ts';
import { CaptureReader, Direction } from '../../../pcap/index.ts';
import { type RateRecord, RateWatch, rateOf } from '../../../tools/experiment/rates.ts';
import { failuresOf } from '../../../tools/experiment/run.ts';
import type { CaseExpectation, CaseSpec } from '../../../tools/experiment/types.ts';
import { experimentOf, run } from './support.ts';

/** Nothing recovers: each notification is seen for ever. */
const REACTION = {
  kind: 'dcqcn',
  profile: 'paper',
  parameters: { minRateBps: 20e6, rateTimerNs: 1e12, alphaTimerNs: 1e12, byteCounterBytes: 0 },
};
const ALICE = {
  kind: 'stack',
  addresses: ['10.0.0.1/24'],
  congestion: { lineRateBps: 160e6, reaction: REACTION },
};
const BOB = { kind: 'stack', addresses: ['10.0.0.2/24'] };
const MARKED: CaseSpec = {
  name: 'marked',
  wires: {
    wire: {
      rules: [{ name: 'three', on: { direction: 'a-to-b', opcode: 'send' }, do: 'mark-ce', times: 3 }],
      notify: { minTimeBetweenCnpsNs: 0 },
    },
  },
  run: [
    { host: 'bob', command: 'rping -s -S 3000', background: true, ready: { listen: 7174 } },
    { host: 'alice', command: 'rping -c -a 10.0.0.2 -C 3 -S 3000 -V' },
  ],
  expect: [
    { wire: 'wire', event: 'notified', count: 3 },
    { host: 'alice', counter: 'rpCnpHandled', count: 3 },
    { host: 'alice', rate: 'highest', count: 160e6 },
    { host: 'alice', rate: 'lowest', count: 20e6 },
    { host: 'alice', rate: 'last', count: 20e6 },
  ],
};

const RATE = 4e6;
const BURST_BYTES = 65_536;
/**
 * By as much may a packet be seen later than it left, in seconds; data that no rate holds back would be over in less.
 */
const LATENESS = 0.25;

/** Bytes of WRITEs and READ responses as they came in on the wire, and the time from the first of them to the last. */
function dataOf(path: string): { bytes: number; seconds: number } {
  const reader = new CaptureReader();
  reader.push(readFileSync(path));
  const frame = new Frame();
  let [first, last, data] = [0, 0, 0];
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    const { bytes, seconds, nanoseconds, direction } = packet;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
    if (status !== 0 || direction !== Direction.Inbound || (frame.flags & (OpFlag.Write | OpFlag.ReadResponse)) === 0)
      continue;
    last = seconds + nanoseconds / 1e9;
    if (data === 0) first = last;
    data += bytes.length;
  }
  return { bytes: data, seconds: last - first };
}

const marked = (...expectations: readonly CaseExpectation[]) =>
  experimentOf({ hosts: { alice: ALICE, bob: BOB }, cases: [{ ...MARKED, expect: expectations }] });

describe('a host that reacts to congestion', () => {
  it('leaves its rates as JSON, CSV and a page of plots, and they can be expected', async () => {
    const { result, directory } = await run(marked(...MARKED.expect));
    expect(result.cases.flatMap(failuresOf)).toEqual([]);
    const left = (name: string): string => readFileSync(join(directory, 'marked', name), 'utf8');
    const { flows, values }: RateRecord = JSON.parse(left('rates.json'));
    expect(flows).toMatchObject([{ host: 'alice' }]);
    // 160 Mb/s, halved three times: alpha stays at one.
    const rates = flows[0]?.rateBps ?? [];
    expect([rates[0], rates.at(-1)]).toEqual([160e6, 20e6]);
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    expect(values.map(({ name, values: counts }) => [name, counts.at(-1)])).toEqual([
      ['alice: rpCnpHandled', 3],
      ['bob: npEcnMarkedRocePackets', 3],
      ['wire a-to-b: marked', 3],
    ]);
    const [head, first] = left('rates.csv').split('\n');
    expect(head).toBe('seconds,host,qpn,rateBps,targetRateBps,alpha');
    expect(first).toMatch(/^[\d.]+,alice,\d+,160000000,160000000,1$/);
    expect(left('rates.html')).toContain('queue pair 0x');
    expect(JSON.parse(left('wire.rules.json'))).toEqual(MARKED.wires?.['wire']);
  });

  it.each(['ib_write_bw', 'ib_read_bw'])('keeps to its rate on a real wire: %s', async (program) => {
    const fixed = { congestion: { reaction: { kind: 'fixed-rate', rateBps: RATE }, maxBurstBytes: BURST_BYTES } };
    const spec: CaseSpec = {
      name: 'fixed',
      run: [
        { host: 'bob', command: program, background: true, ready: { listen: 18515 } },
        { host: 'alice', command: `${program} -s 32768 -n 10 10.0.0.2` },
      ],
      expect: [{ host: program === 'ib_read_bw' ? 'bob' : 'alice', rate: 'highest', count: RATE }],
    };
    const hosts = { alice: { ...BOB, addresses: ALICE.addresses, ...fixed }, bob: { ...BOB, ...fixed } };
    const { result, directory } = await run(experimentOf({ hosts, cases: [spec] }));
    expect(result.cases.flatMap(failuresOf)).toEqual([]);
    const { bytes, seconds } = dataOf(join(directory, 'fixed', 'wire.pcapng'));
    expect(bytes).toBeGreaterThan(10 * 32_768);
    // A slow machine takes longer; none may be faster.
    expect(8 * (bytes - BURST_BYTES)).toBeLessThanOrEqual(RATE * (seconds + LATENESS));
  });

  it('is told that a rate is not as expected', async () => {
    const { result } = await run(marked({ host: 'alice', rate: 'last', count: { min: 100e6 } }));
    expect(result.cases.flatMap(failuresOf)).toEqual([
      'last rate of alice, bits a second: 20000000, not at least 100000000',
    ]);
  });

  it('has no rate without a connection', async () => {
    const spec: CaseSpec = {
      name: 'none',
      run: [{ host: 'bob', command: 'rping --help' }],
      expect: [{ host: 'alice', rate: 'last', count: 1 }],
    };
    const { result } = await run(experimentOf({ hosts: { alice: ALICE, bob: BOB }, cases: [spec] }));
    expect(result.cases.flatMap(failuresOf)).toEqual([
      'last rate of alice, bits a second: no queue pair with a rate, not 1',
    ]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown parameter', { reaction: { ...REACTION, parameters: { sheep: 1 } } }, "no parameter 'sheep'"],
    [
      'a parameter that is no number',
      { reaction: { ...REACTION, parameters: { g: 'x' } } },
      'by the names of parameters',
    ],
    ['a rate of 0', { lineRateBps: 0 }, 'test.json: hosts.alice.congestion.lineRateBps: '],
    ['a DSCP of 64', { notification: { cnpDscp: 64 } }, 'cnpDscp is a whole number from 0 to 63'],
    ['a field that is none', { sheep: 1 }, 'test.json: hosts.alice.congestion: Unrecognized key: "sheep"'],
  ])('is refused with %s, by its place', (_, changes, message) => {
    const alice = { ...ALICE, congestion: { ...ALICE.congestion, ...changes } };
    expect(() => experimentOf({ hosts: { alice, bob: BOB } })).toThrow(message);
    expect(() => experimentOf({ hosts: { alice, bob: BOB } })).toThrow(/^test\.json: hosts\.alice\.congestion/);
  });

  it('is needed for a rate to be expected', () => {
    const cases = [{ ...MARKED, expect: [{ host: 'bob', rate: 'last', count: 1 }] }];
    expect(() => experimentOf({ cases })).toThrow('with congestion control');
  });
});

describe('RateWatch', () => {
  it('keeps a sample when something has changed, counts from where it began, and leaves out what stayed nothing', () => {
    let rate = { qpn: 5, rateBps: 100, targetRateBps: 100, alpha: 1 };
    const counters = { rpCnpHandled: 7, npCnpSent: 3 };
    const watch = new RateWatch(new Map([['x', { rates: () => [rate], counters: () => counters }]]));
    watch.look();
    watch.look();
    rate = { ...rate, rateBps: 50 };
    counters.rpCnpHandled++;
    watch.look();
    const record = watch.stop();
    expect(record.flows).toMatchObject([{ host: 'x', qpn: 5, rateBps: [100, 50], targetRateBps: [100, 100] }]);
    expect(record.values).toMatchObject([{ name: 'x: rpCnpHandled', values: [0, 1] }]);
    expect(record.flows[0]?.timesNs).toHaveLength(2);
  });

  it('asks nobody for counters where nothing has a rate', () => {
    const counters = () => {
      throw new Error('not to be asked');
    };
    const watch = new RateWatch(new Map([['x', { rates: () => [], counters }]]));
    watch.look();
    expect(watch.stop()).toEqual({ flows: [], values: [] });
  });

  it('has the lowest of all for the last rate of several queue pairs', () => {
    const flow = { host: 'x', timesNs: [1, 2], targetRateBps: [9, 9], alpha: [1, 1] };
    const record: RateRecord = {
      flows: [
        { ...flow, qpn: 1, rateBps: [4, 8] },
        { ...flow, qpn: 2, rateBps: [9, 6] },
      ],
      values: [],
    };
    expect(['lowest', 'highest', 'last'].map((name) => rateOf(record, 'x', name as 'last'))).toEqual([4, 9, 6]);
    expect(rateOf(record, 'y', 'last')).toBeUndefined();
  });
});
