/**
 * Runs a program of the table between two hosts, one of ours and another, and judges it as `run-case.ts` does. Owns the
 * addresses that its lines get there.
 */
import { setTimeout as later } from 'node:timers/promises';
import type { ProgramCase } from './case.ts';
import type { EndedProgram, ProgramHost, StartedProgram } from './host.ts';

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
  const asked = await Promise.race([within(asking, LONGEST_MS), afterFailureOf(serving, asking)]);
  const patience = asked === undefined || asked.code !== 0 || one.goesOn === true ? 0 : PATIENCE_MS;
  const served = await within(serving, patience);
  const printed = [served ?? (await ended(serving)), asked ?? (await ended(asking))]
    .map((each) => each.printed)
    .join('');
  if (asked === undefined) return { code: undefined, printed };
  const fault = one.goesOn === true ? 0 : (served?.code ?? NEVER_ENDED);
  return { code: asked.code !== 0 ? asked.code : fault, printed };
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
async function afterFailureOf(server: StartedProgram, client: StartedProgram): Promise<EndedProgram | undefined> {
  const { code } = await server.ended;
  return within(client, code === 0 ? LONGEST_MS : PATIENCE_MS);
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
const PATIENCE_MS = 5000;
const NEVER_ENDED = 124;
