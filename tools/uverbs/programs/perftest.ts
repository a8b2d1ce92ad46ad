/** Programs of perftest, introduced over TCP and by rdma_cm, with the options that change what goes over the wire. */
import type { ProgramCase } from './case.ts';

export const PERFTEST_CASES: readonly ProgramCase[] = [
  ...['write', 'read', 'send', 'atomic'].flatMap((verb) => [
    bandwidth(verb),
    bandwidth(verb, '-b'),
    bandwidth(verb, '-q 4'),
    bandwidth(verb, '-R'),
    latency(verb),
    latency(verb, '-R'),
  ]),
  ...['write', 'send'].flatMap((verb) => [
    bandwidth(verb, '-c UC'),
    latency(verb, '-c UC'),
    bandwidth(verb, '-s 32 -I 64'),
    latency(verb, '-s 32 -I 64'),
    bandwidth(verb, '-x 2'),
  ]),
  ...['write', 'read', 'send'].flatMap((verb) => [bandwidth(verb, '-m 512'), allSizes(verb)]),
  // A WRITE tells nobody, so perftest has no events for it.
  ...['read', 'send', 'atomic'].flatMap((verb) => [bandwidth(verb, '-e'), latency(verb, '-e')]),
  bandwidth('send', '-c UD'),
  latency('send', '-c UD'),
  latency('send', '-c UD -e'),
  bandwidth('send', '-c UD -b -q 3'),
  bandwidth('send', '-c UD -R'),
  bandwidth('write', '-R -q 2'),
  bandwidth('send', '--use-srq -q 2'),
  latency('send', '--use-srq'),
  bandwidth('atomic', '-A CMP_AND_SWAP'),
  latency('atomic', '-A CMP_AND_SWAP'),
  ...['write', 'read', 'send', 'atomic'].map((verb) => ({
    ...bandwidth(verb, verb === 'atomic' ? '-n 500' : ''),
    loss: 0.01,
  })),
  {
    ...bandwidth('send', '-c XRC'),
    ...{ exitCode: 1, prints: /Error opening XRC domain/, silent: true },
    refused: 'EOPNOTSUPP: rdma_rxe has no XRC',
  },
];

function bandwidth(verb: string, options = ''): ProgramCase {
  return measured(`ib_${verb}_bw`, options, 20, /\n \d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+/);
}

function latency(verb: string, options = ''): ProgramCase {
  return measured(`ib_${verb}_lat`, options, 100, /\n \d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+/);
}

/** Messages of 2 bytes to 8 MiB. */
function allSizes(verb: string): ProgramCase {
  return measured(`ib_${verb}_bw`, '-a', 5, /\n 8388608\s+\d+\s+[\d.]+/);
}

function measured(tool: string, options: string, iterations: number, prints: RegExp): ProgramCase {
  const server = [tool, '-F', `-n ${iterations}`, ...(options === '' ? [] : [options])].join(' ');
  const byCm = options.includes('-R');
  const lines = [server, `${server} ${byCm ? '10.0.0.1' : 'localhost'}`] as const;
  // Its server (create_rdma_cm_connection) listens for the introduction, ends to listen, tells its client, and listens
  // anew. A client that is faster is rejected, and what it tries again with it has freed.
  return { from: 'perftest', lines, prints, ...(byCm ? { asksEarly: true } : {}) };
}
