/**
 * Goal: every experiment that is built in ends as it says, the one that must fail for the reason it states. Method:
 * each is run as `roce experiment run` does, on guests that are booted once for all experiments with the same hosts.
 * That about errors is run by the tests of the matrix; those about congestion by congestion.test.ts, which looks
 * closer.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInNames, loadExperiment } from '../../tools/experiment/load.ts';
import { failuresOf, runJudgedCase } from '../../tools/experiment/run.ts';
import { HostPool } from '../../tools/experiment/stage.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { describeWith } from '../support/need.ts';

/** Captures stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL('../../interop-out/experiments', import.meta.url));

/** In an order in which hosts are booted as seldom as can be. */
const ANYWHERE = ['first-steps'];
const WITH_NAMESPACES = ['namespaces'];
const WITH_GUESTS = [
  'write-packet-lost',
  'read-response-gap',
  'corrupt-packet',
  'ack-lost',
  'duplicate-request',
  'reordered-packets',
  'rnr',
  'lossy-wire',
  'ce-marks',
  'interop-atomic-write',
];
const WITH_THE_MATRIX = ['interop-errors'];
const WITH_BOTH = ['udp6-to-rxe'];
const ABOUT_CONGESTION = ['congestion-rxe', 'congestion-processes'];

it('no experiment that is built in is left out', () => {
  const run = [...WITH_THE_MATRIX, ...ANYWHERE, ...WITH_NAMESPACES, ...WITH_GUESTS, ...WITH_BOTH, ...ABOUT_CONGESTION];
  expect([...new Set(run)].sort()).toEqual(builtInNames());
});

describeWith('tshark', 'without privileges', () => experiments(ANYWHERE));
describeWith(['netns', 'raw-socket', 'cap', 'tshark'], 'in namespaces', () => experiments(WITH_NAMESPACES));
describeWith(['lab', 'tshark'], 'with guests', () => {
  beforeAll(async () => {
    await buildImage('6.12');
  });
  experiments(WITH_GUESTS);
  describeWith('netns', 'and namespaces', () => experiments(WITH_BOTH));
});

function experiments(names: readonly string[]): void {
  const stages = new HostPool(() => {});
  afterAll(() => stages.close());
  describe.each(names)('%s', (name) => {
    const experiment = loadExperiment(name);
    it.each(experiment.cases)('$name', async (spec) => {
      const result = await runJudgedCase(experiment, spec, { directory: `${DIRECTORY}/${name}`, stages });
      expect(failuresOf(result)).toEqual([]);
      expect(result.judgements.filter(({ verdict }) => verdict === 'pass').length).toBeGreaterThan(2);
    });
  });
}

it('exactly one states what must fail, and why', () => {
  const stated = builtInNames().flatMap((name) =>
    loadExperiment(name).cases.flatMap(({ expect: list }) =>
      list.flatMap(({ mustFail }) => (mustFail === undefined ? [] : [`${name}: ${mustFail}`])),
    ),
  );
  expect(stated).toEqual([
    'udp6-to-rxe: Linux drops UDP datagrams with checksum 0 over IPv6 before a socket of Node sees them.',
  ]);
});
