/**
 * Goal: our queue pairs slow down when a network says so and recover afterwards, against rdma_rxe and against a second
 * process; ours tells those who mark nothing of it; and what the counters, the wire and the rates say is one story.
 * Method: the experiments about congestion, each on hosts that are made once; then what no file can say is held against
 * what they left: equal counts, the order of packets, and the rates over time. Nothing is measured by the clock: rates
 * recover by bytes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadExperiment } from '../../tools/experiment/load.ts';
import type { FlowRates, RateRecord } from '../../tools/experiment/rates.ts';
import { type CaseResult, failuresOf, runJudgedCase } from '../../tools/experiment/run.ts';
import { HostPool } from '../../tools/experiment/stage.ts';
import type { CaseSpec, Experiment } from '../../tools/experiment/types.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { type TsharkRow, tsharkRows } from '../../tools/tshark.ts';
import { describeWith } from '../support/need.ts';

/** Captures and plots stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL('../../interop-out/experiments', import.meta.url));
const LINE_RATE = 100e6;
const MIN_RATE = 2e6;
const CNP = 'infiniband.bth.opcode == 0x81';

describeWith(['lab', 'tshark'], 'congestion control and rdma_rxe', () => {
  beforeAll(async () => {
    await buildImage('6.12');
  });
  const experiment = loadExperiment('congestion-rxe');
  const run = runner(experiment);

  it.each(experiment.cases.filter(({ name }) => name !== 'innocent-sender'))(
    '$name: our rates fall with notifications, and with nothing else',
    async (spec) => {
      const result = await run(spec);
      const { record } = result;
      const { rpCnpHandled: handled = 0, rpCnpExcess: excess = 0 } = record.counters.get('ours') ?? {};
      const account = record.wires[0]?.account;
      // A busy machine may receive more at once than count: excess.
      const cnpSent = handled + excess;
      expect(account?.notifications?.['a-to-b']).toMatchObject({ cnpSent, unknownSender: 0, unsent: 0 });
      expect(await cnps(result, 'ours')).toHaveLength(cnpSent);
      await expectEachAfterItsMark(result);
      expectRatesFollow(record.rates);
    },
  );

  it('innocent-sender: rdma_rxe is told, does not react, and survives', async () => {
    const result = await run(caseOf(experiment, 'innocent-sender'));
    const { npCnpSent, rpCnpHandled } = result.record.counters.get('ours') ?? {};
    const sent = await cnps(result, 'guest');
    expect([sent.length, rpCnpHandled]).toEqual([npCnpSent, 0]);
    const sender = result.record.wires[0]?.account.connections.at(-1)?.b.qpn;
    expect(new Set(sent.map((row) => Number(value(row, 'infiniband.bth.destqp'))))).toEqual(new Set([sender]));
  });
});

describeWith(['netns', 'tshark'], 'congestion control between two processes', () => {
  const experiment = loadExperiment('congestion-processes');
  const run = runner(experiment);

  it.each(experiment.cases)('$name: our rates fall with the notifications of the peer', async (spec) => {
    const result = await run(spec);
    const { counters, rates, wires } = result.record;
    const seen = await cnps(result, 'other');
    const { rpCnpHandled: handled = 0, rpCnpExcess: excess = 0, rpCnpIgnored } = counters.get('ours') ?? {};
    expect([handled + excess, rpCnpIgnored]).toEqual([seen.length, 0]);
    const sender = wires[0]?.account.connections.at(-1)?.a.qpn;
    expect(new Set(seen.map((row) => Number(value(row, 'infiniband.bth.destqp'))))).toEqual(new Set([sender]));
    expectRatesFollow(rates);
  });

  it('interval: there are no more notifications than the interval leaves room for', async () => {
    const result = await run(caseOf(experiment, 'interval'));
    const seen = await cnps(result, 'other');
    const [mark] = await rows(result, 'other', 'ip.dsfield.ecn == 3');
    // Between the moment in which the first mark left the wire and that in which the last notification came back.
    const seconds = Number(value(seen.at(-1), 'frame.time_epoch')) - Number(value(mark, 'frame.time_epoch'));
    expect(seen.length).toBeLessThanOrEqual(seconds / 0.005 + 1);
  });
});

/** Runs each case once, on one stage, and wants it to end as its file says. */
function runner(experiment: Experiment): (spec: CaseSpec) => Promise<CaseResult> {
  const stages = new HostPool(() => {});
  const results = new Map<string, CaseResult>();
  afterAll(() => stages.close());
  return async (spec) => {
    const known = results.get(spec.name);
    if (known !== undefined) return known;
    const result = await runJudgedCase(experiment, spec, { directory: join(DIRECTORY, experiment.name), stages });
    results.set(spec.name, result);
    expect(failuresOf(result)).toEqual([]);
    expect(result.judgements.filter(({ verdict }) => verdict === 'pass').length).toBeGreaterThan(2);
    for (const file of ['rates.json', 'rates.csv', 'rates.html'])
      expect(readFileSync(join(DIRECTORY, experiment.name, spec.name, file), 'utf8').length).toBeGreaterThan(100);
    return result;
  };
}

function caseOf({ cases }: Experiment, wanted: string): CaseSpec {
  const found = cases.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no case ${wanted}`);
  return found;
}

/** What one end of the wire has seen of a filter, as tshark tells it. */
function rows({ record }: CaseResult, at: string, filter: string): Promise<TsharkRow[]> {
  const fields = ['frame.number', 'frame.time_epoch', 'infiniband.bth.destqp'];
  const seenThere = `frame.interface_description == "${at}" && (${filter})`;
  return tsharkRows(record.wires[0]?.capture ?? '', fields, { filter: seenThere });
}

const cnps = (result: CaseResult, at: string): Promise<TsharkRow[]> => rows(result, at, CNP);

function value(row: TsharkRow | undefined, field: string): string {
  return row?.get(field)?.[0] ?? '';
}

/** Each notification of the wire is about a packet that came in before, and went out marked. */
async function expectEachAfterItsMark(result: CaseResult): Promise<void> {
  const events = result.record.wires[0]?.account.events ?? [];
  const marked = new Set(
    (await rows(result, 'guest', 'ip.dsfield.ecn == 3')).map((row) => Number(value(row, 'frame.number'))),
  );
  const told = events.filter(({ opcode, out = [] }) => opcode === 'CNP' && out.length === 1);
  expect(told.length).toBeGreaterThan(0);
  for (const { about = 0, out } of told) {
    expect(out?.[0]).toBeGreaterThan(about);
    const event = events.find(
      ({ in: came, opcode, action }) => came === about && opcode !== 'CNP' && action.includes('marked CE'),
    );
    expect(marked).toContain(event?.out?.[0]);
  }
}

/** From line rate, down only where notifications came, never below the minimum, and up only after the last of them. */
function expectRatesFollow({ flows, values }: RateRecord): void {
  const counted = values.find(({ name }) => name === 'ours: rpCnpHandled');
  const flow = flows.at(-1);
  if (counted === undefined || flow === undefined) throw new Error('no notification was seen');
  const notificationsAt = (time: number): number =>
    counted.values[counted.timesNs.findLastIndex((at) => at <= time)] ?? 0;
  const { timesNs, rateBps } = flow;
  expect(rateBps[0]).toBe(LINE_RATE);
  expect(Math.min(...rateBps)).toBeGreaterThanOrEqual(MIN_RATE);
  expect(Math.max(...rateBps)).toBe(LINE_RATE);
  const falls = timesNs.flatMap((time, i) =>
    (rateBps[i] ?? 0) < (rateBps[i - 1] ?? 0) ? [[timesNs[i - 1] ?? 0, time] as const] : [],
  );
  expect(falls.length).toBeGreaterThan(0);
  for (const [before, after] of falls) expect(notificationsAt(after)).toBeGreaterThan(notificationsAt(before));
  expectTargetAbove(flow);
}

function expectTargetAbove({ rateBps, targetRateBps, alpha }: FlowRates): void {
  rateBps.forEach((rate, i) => {
    expect(targetRateBps[i]).toBeGreaterThanOrEqual(rate);
    expect(alpha[i]).toBeLessThanOrEqual(1);
  });
}
