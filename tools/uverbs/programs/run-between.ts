/**
 * Runs a program of the table between two hosts, one of ours and another, and judges it as `run-case.ts` does. Owns the
 * addresses that its lines get there.
 */
import { setTimeout as later } from 'node:timers/promises';
import type { ProgramCase } from './case.ts';
import type { EndedProgram, ProgramHost, StartedProgram } from './host.ts';
import { openAgent } from './mpi-agent.ts';

/** What came of two lines. */
export interface Conversation {
  /** Undefined when it did not end in time. */
  readonly code: number | undefined;
  readonly printed: string;
}

/** Runs both lines to their end. The exit code is the client's; or the server's, when only that fails. */
export async function converse(one: ProgramCase, server: ProgramHost, client: ProgramHost): Promise<Conversation> {
  const [first = '', second = ''] = one.lines;
  const serving = server.start(filledIn(first, server, server));
  await serving.listening();
  const asking = client.start(filledIn(second, client, server));
  const longestMs = one.loss === undefined ? LONGEST_MS : LONGER_MS;
  const asked = await Promise.race([within(asking, longestMs), afterFailureOf(serving, asking, longestMs)]);
  const patience = asked === undefined || asked.code !== 0 || one.goesOn === true ? 0 : PATIENCE_MS;
  const served = await within(serving, patience);
  const printed = [served ?? (await ended(serving)), asked ?? (await ended(asking))]
    .map((each) => each.printed)
    .join('');
  if (asked === undefined) return { code: undefined, printed };
  const fault = one.goesOn === true ? 0 : (served?.code ?? NEVER_ENDED);
  return { code: asked.code !== 0 ? asked.code : fault, printed };
}

/**
 * Runs one line of mpirun for two ranks or four, half of them on each host. In the place of ssh stands a program that
 * tells us what a shell on the other host is to run: Open MPI's daemon.
 */
export async function spread(one: ProgramCase, here: ProgramHost, there: ProgramHost): Promise<Conversation> {
  const agent = openAgent(here.directory);
  try {
    const line = spreadLine(one.lines[0], [here.ipv4, there.ipv4], agent.path);
    const running = here.start(filledIn(line, here, here));
    const first = await Promise.race([agent.asked, within(running, LONGER_MS)]);
    if (typeof first !== 'string') return first ?? { code: undefined, printed: (await ended(running)).printed };
    // The daemon looks for the program, too, and has nothing to start with it.
    const asked = first.replace(agent.path, '/bin/sh').replaceAll("'", "'\\''");
    const daemon = there.start(`sh -c '${asked}'`);
    const came = await Promise.race([
      within(running, LONGEST_SPREAD_MS),
      afterFailureOf(daemon, running, LONGEST_SPREAD_MS),
    ]);
    const printed = [came ?? (await ended(running)), await ended(daemon)].map((each) => each.printed).join('');
    return { code: came?.code, printed };
  } finally {
    agent.close();
  }
}

/** A line of mpirun with as many ranks on each host, which is reached by `agent`. */
export function spreadLine(line: string, hosts: readonly string[], agent: string): string {
  const each = Number(/ -n (\d+) /.exec(line)?.[1]) / hosts.length;
  const slots = hosts.map((host) => `${host}:${each}`).join(',');
  return line.replace('--oversubscribe', `--host ${slots} --mca mpi_yield_when_idle 1 --mca plm_rsh_agent ${agent}`);
}

/** What it came to, when that was in time. */
async function within({ ended: end }: StartedProgram, patienceMs: number): Promise<EndedProgram | undefined> {
  const timer = new AbortController();
  const late = later(patienceMs, undefined, { signal: timer.signal }).catch(() => undefined);
  const first = await Promise.race([end, late]);
  timer.abort();
  return first;
}

/** A client whose server has failed has little to wait for. */
async function afterFailureOf(
  server: StartedProgram,
  client: StartedProgram,
  longestMs: number,
): Promise<EndedProgram | undefined> {
  const { code } = await server.ended;
  return within(client, code === 0 ? longestMs : PATIENCE_MS);
}

async function ended(program: StartedProgram): Promise<EndedProgram> {
  await program.end();
  return program.ended;
}

function filledIn(line: string, own: ProgramHost, server: ProgramHost): string {
  return line
    .replaceAll('{dir}', server.directory)
    .replaceAll('{own}', own.own)
    .replaceAll('-b 10.0.0.1', `-b ${own.ipv4}`)
    .replaceAll(/\b(?:10\.0\.0\.1|127\.0\.0\.1|localhost)\b/g, server.ipv4)
    .replaceAll(/ ::1\b/g, ` ${server.ipv6}`);
}

const LONGEST_MS = 45_000;
const LONGER_MS = 180_000;
/** Ranks on one emulated processor wait for each other. */
const LONGEST_SPREAD_MS = 360_000;
const PATIENCE_MS = 5000;
const NEVER_ENDED = 124;
