/**
 * Goal: mpirun here gets its daemon started on another host without ssh. Method: hosts that are made up; for mpirun
 * stands a shell that runs the agent as mpirun does.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProgramCase } from '../../tools/uverbs/programs/case.ts';
import { casesOf } from '../../tools/uverbs/programs/columns.ts';
import type { EndedProgram, ProgramHost, StartedProgram } from '../../tools/uverbs/programs/host.ts';
import { openAgent } from '../../tools/uverbs/programs/mpi-agent.ts';
import { spread } from '../../tools/uverbs/programs/run-between.ts';

const RANKS: ProgramCase = { from: 'openmpi-bin', lines: ['mpirun --oversubscribe -n 2 {own}/ranks'], prints: /agree/ };
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'roce mpi-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it('the agent passes on the line without the name of the host, and is done', async () => {
  const agent = openAgent(directory);
  execFileSync(agent.path, ['10.0.0.2', ' orted', '-mca', 'ess', '"env"', '*', "'"]);
  expect(await agent.asked).toBe(' orted -mca ess "env" * \'');
  agent.close();
});

it("the daemon runs on the other host as the line says, but for the agent, and both hosts' output counts", async () => {
  const asked: string[] = [];
  let daemonIsThere = (): void => undefined;
  const ranksEnd = new Promise<void>((resolve) => {
    daemonIsThere = resolve;
  });
  const here = host((line) => {
    const agent = agentIn(line);
    execFileSync(agent, ['there', `orted --mca plm_rsh_agent "${agent}" -mca x 'two  words'`]);
    return runs(ranksEnd.then(() => ({ code: 0, printed: 'ranks agree\n' })));
  });
  const there = host((line) => {
    asked.push(line);
    daemonIsThere();
    return runs({ code: 0, printed: 'daemon\n' });
  });
  expect(await spread(RANKS, here, there)).toEqual({ code: 0, printed: 'ranks agree\ndaemon\n' });
  expect(asked.map(whatOrtedGets)).toEqual(['--mca plm_rsh_agent /bin/sh -mca x two  words\n']);
});

it('an mpirun that asks for nothing is not waited for longer than it runs', async () => {
  const here = host(() => runs({ code: 213, printed: 'no such option\n' }));
  const there = host(() => {
    throw new Error('nothing was asked for');
  });
  expect(await spread(RANKS, here, there)).toEqual({ code: 213, printed: 'no such option\n' });
});

it('a daemon that fails is not waited for, nor is mpirun', async () => {
  let end = (_: EndedProgram): void => undefined;
  const ended = new Promise<EndedProgram>((resolve) => {
    end = resolve;
  });
  const here = host((line) => {
    execFileSync(agentIn(line), ['there', 'orted']);
    return { ...runs(ended), end: async () => end({ code: 128, printed: 'killed\n' }) };
  });
  const there = host(() => runs({ code: 127, printed: 'orted: not found\n' }));
  expect(await spread(RANKS, here, there)).toEqual({ code: undefined, printed: 'killed\norted: not found\n' });
});

it('ranks between a host of ours and rdma_rxe are two and four, and two on a wire with losses', () => {
  const ranks = ['rxe 6.1', 'rxe 6.12'].map((column) =>
    casesOf(column as 'rxe 6.1')
      .filter(({ from }) => from === 'openmpi-bin')
      .map(({ lines, loss }) => [Number(/ -n (\d)/.exec(lines[0])?.[1]), loss]),
  );
  const expected = [
    [2, undefined],
    [4, undefined],
    [2, 0.01],
  ];
  expect(ranks).toEqual([expected, expected]);
});

function host(start: (line: string) => StartedProgram): ProgramHost {
  return { ipv4: '10.0.0.1', ipv6: 'fd00::1', directory, own: '/own', start };
}

function runs(program: EndedProgram | Promise<EndedProgram>): StartedProgram {
  return { ended: Promise.resolve(program), listening: async () => undefined, end: async () => undefined };
}

function agentIn(line: string): string {
  return /plm_rsh_agent (.*) -n 2 \/own\/ranks$/.exec(line)?.[1] ?? '';
}

/** What a line's command comes to in the end. */
function whatOrtedGets(line: string): string {
  const path = join(directory, 'orted');
  writeFileSync(path, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  return execFileSync('sh', ['-c', `PATH='${directory}'; exec ${line}`.replace('exec sh', 'exec /bin/sh')]).toString();
}
