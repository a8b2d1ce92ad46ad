/**
 * Runs the commands of one case on a stage: in order, with a limit for each, until all have ended. Owns the order and
 * the logs. Checks no expectations: `judge.ts` does, from the results.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { defined, RoceError } from 'rocev2/packets';
import { FAULT_DIRECTIONS } from '../bump/rules-file.ts';
import type { RunResult } from '../lab/guest.ts';
import type { RunningCommand } from './host.ts';
import { runName } from './names.ts';
import { writeRates } from './rate-files.ts';
import { type RateRecord, RateWatch, type WatchedWire } from './rates.ts';
import type { RunningHosts } from './stage.ts';
import type { CaseSpec, CommandStep, Experiment, Ready } from './types.ts';
import { openWires, type WireRecord } from './wires.ts';

/** The results of a case. */
export interface CaseRecord {
  readonly seconds: number;
  readonly commands: readonly CommandRecord[];
  readonly wires: readonly WireRecord[];
  /** By how much the counters of each host have grown. */
  readonly counters: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** How fast queue pairs were allowed to send. */
  readonly rates: RateRecord;
  /** Why the case could not be run as it is written; absent when it could. */
  readonly problem?: string;
}

export interface CommandRecord {
  readonly name: string;
  readonly step: CommandStep;
  readonly result: RunResult;
  /** How it ended, where it did not by itself. */
  readonly ending?: 'ended by the experiment' | 'killed at its limit' | 'killed when another failed';
  /** Path of what it printed. */
  readonly log: string;
}

/** Runs a case and leaves its files in `directory`, which is emptied first. Rejects only for our own bugs. */
export async function runCase(
  stage: RunningHosts,
  experiment: Experiment,
  spec: CaseSpec,
  directory: string,
): Promise<CaseRecord> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const before = countersOf(stage);
  const started = performance.now();
  const watch = new RateWatch(stage.hosts);
  const wires = await openWires(stage, experiment, spec, directory, watch.look);
  watch.start(wires.wires);
  const commands = new Commands(stage);
  let problem: string | undefined;
  let records: readonly WireRecord[];
  let rates: RateRecord;
  try {
    await commands.run(spec);
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    problem = error.message;
  } finally {
    await commands.killAll();
    await settled(wires.wires);
    rates = watch.stop();
    records = await wires.stop();
  }
  writeRates(directory, `${experiment.title}: ${spec.name}`, rates);
  return {
    seconds: (performance.now() - started) / 1000,
    commands: await commands.records(directory),
    wires: records,
    counters: growth(before, countersOf(stage)),
    rates,
    ...defined({ problem }),
  };
}

/**
 * What is on its way arrives: a last ACK, the answer to a disconnect. Resolves when the wires have been silent for a
 * while, seen many times: one look after as long proves nothing where this process itself has stood still meanwhile.
 */
async function settled(wires: readonly WatchedWire[]): Promise<void> {
  const seen = (): number =>
    wires.reduce((sum, { bump }) => {
      const { counters } = bump.bump;
      return FAULT_DIRECTIONS.reduce((all, direction) => all + counters[direction].frames, sum);
    }, 0);
  let before = seen();
  for (let looks = 0, silent = 0; silent < SILENT_LOOKS && looks < MOST_LOOKS; looks++) {
    await delay(LOOK_MS);
    const now = seen();
    silent = now === before ? silent + 1 : 0;
    before = now;
  }
}

/** A command that has been started. */
interface Running {
  readonly name: string;
  readonly step: CommandStep;
  readonly command: RunningCommand;
  readonly limit: number;
  ending?: CommandRecord['ending'] & string;
  result?: RunResult;
}

class Commands {
  readonly #stage: RunningHosts;
  readonly #all: Running[] = [];

  constructor(stage: RunningHosts) {
    this.#stage = stage;
  }

  /** All steps, then the end of all commands. @throws RoceError for what did not go as written */
  async run(spec: CaseSpec): Promise<void> {
    for (const step of spec.run) {
      if ('end' in step) await this.#end(this.#named(step.end));
      else if ('wait' in step) await this.#untilEnded(this.#named(step.wait));
      else await this.#start(step);
    }
    for (const running of this.#all) if (running.step.exit !== 'any') await this.#untilEnded(running);
    for (const running of this.#all) await this.#end(running);
  }

  /** Ends what still runs, at once. */
  async killAll(): Promise<void> {
    for (const running of this.#all) {
      if (running.result !== undefined) continue;
      running.ending ??= 'killed when another failed';
      // A guest that has died answers no more; its end is reported elsewhere.
      await Promise.race([running.command.kill().then(() => running.command.ended), delay(KILL_MS)]).catch(unlessBug);
    }
  }

  async records(directory: string): Promise<CommandRecord[]> {
    const records = this.#all.map(async (running, index) => {
      const { name, step, ending, command } = running;
      const result = running.result ?? { code: NEVER_ENDED, ...(await command.output()) };
      const log = join(directory, `${index + 1}-${name}.log`);
      writeFileSync(log, logText(step, result, ending));
      return { name, step, result, log, ...defined({ ending }) };
    });
    return Promise.all(records);
  }

  async #start(step: CommandStep): Promise<void> {
    const host = this.#stage.hosts.get(step.host);
    if (host === undefined) throw new RoceError('ERR_ROCE_STATE', `there is no host ${step.host}`);
    const limit = performance.now() + (step.timeoutSeconds ?? TIMEOUT_SECONDS) * 1000;
    const running: Running = { name: runName(step), step, command: host.start(step.command), limit };
    this.#all.push(running);
    running.command.ended.then(
      (result) => {
        running.result = result;
      },
      () => {},
    );
    if (step.background !== true) await this.#untilEnded(running);
    else if (step.ready !== undefined) await this.#untilReady(running, step.ready);
  }

  async #untilReady(running: Running, ready: Ready): Promise<void> {
    const { command, name, step } = running;
    const host = this.#stage.hosts.get(step.host);
    const limitMs = running.limit - performance.now();
    const ended = command.ended.then(() => 'ended' as const);
    const isReady =
      'listen' in ready ? host?.listening(ready.listen, limitMs) : this.#untilPrinted(running, ready.prints);
    const first = await Promise.race([ended, isReady]);
    if (first === 'ended') throw new RoceError('ERR_ROCE_STATE', `${name} ended before it was ready`);
  }

  async #untilPrinted({ name, command, limit }: Running, pattern: string): Promise<void> {
    const wanted = new RegExp(pattern);
    for (;;) {
      const { stdout, stderr } = await command.output();
      if (wanted.test(`${stdout}${stderr}`)) return;
      if (performance.now() > limit) throw new RoceError('ERR_ROCE_TIMEOUT', `${name} never printed ${pattern}`);
      await delay(POLL_MS);
    }
  }

  /** Waits for its end; gives up when another command fails meanwhile. */
  async #untilEnded(running: Running): Promise<void> {
    const others = this.#all.filter((other) => other !== running).map((other) => failureOf(other));
    const timer = new AbortController();
    const late = delay(Math.max(0, running.limit - performance.now()), 'late' as const, { signal: timer.signal });
    late.catch(() => undefined);
    try {
      const first = await Promise.race([running.command.ended, late, ...others]);
      if (first !== 'late') return;
      running.ending = 'killed at its limit';
      await running.command.kill();
      const seconds = running.step.timeoutSeconds ?? TIMEOUT_SECONDS;
      throw new RoceError('ERR_ROCE_TIMEOUT', `${running.name} did not end within ${seconds} s`);
    } finally {
      timer.abort();
    }
  }

  async #end(running: Running): Promise<void> {
    if (running.result !== undefined) return;
    running.ending = 'ended by the experiment';
    await running.command.interrupt();
    const ended = await Promise.race([running.command.ended, delay(END_MS, undefined)]);
    if (ended === undefined) await running.command.kill();
  }

  #named(name: string): Running {
    const running = this.#all.find((one) => one.name === name);
    if (running === undefined) throw new RoceError('ERR_ROCE_STATE', `${name} was never started`);
    return running;
  }
}

function unlessBug(error: unknown): void {
  if (!(error instanceof RoceError)) throw error;
}

/** Rejects when a command ends otherwise than wanted; never settles else. */
async function failureOf({ name, step, command }: Running): Promise<never> {
  const result = await command.ended;
  if (exitFault(step, result) === '') return new Promise<never>(() => {});
  throw new RoceError('ERR_ROCE_STATE', `${name} ended with exit code ${result.code}`);
}

/** The error in how a command ended; empty without one. */
export function exitFault({ exit = 0, excuse }: CommandStep, { code, stdout, stderr }: RunResult): string {
  if (exit === 'any' || code === exit || (exit === 'failure' && code !== 0)) return '';
  if (excuse !== undefined && code === excuse.exit && new RegExp(excuse.prints).test(`${stdout}${stderr}`)) return '';
  return `exit code ${code}, not ${exit === 'failure' ? 'one of failure' : exit}`;
}

function countersOf({ hosts }: RunningHosts): Map<string, Readonly<Record<string, number>>> {
  return new Map([...hosts].map(([name, host]) => [name, host.counters()]));
}

function growth(
  before: ReadonlyMap<string, Readonly<Record<string, number>>>,
  after: ReadonlyMap<string, Readonly<Record<string, number>>>,
): Map<string, Readonly<Record<string, number>>> {
  const grown = ([host, counters]: [string, Readonly<Record<string, number>>]): [string, Record<string, number>] => {
    const old = before.get(host) ?? {};
    return [
      host,
      Object.fromEntries(Object.entries(counters).map(([name, value]) => [name, value - (old[name] ?? 0)])),
    ];
  };
  return new Map([...after].map(grown));
}

function logText(
  { host, command }: CommandStep,
  { code, stdout, stderr }: RunResult,
  ending = 'ended by itself',
): string {
  return [`${host}$ ${command}`, `exit code ${code}, ${ending}`, '--- stdout', stdout, '--- stderr', stderr].join('\n');
}

const TIMEOUT_SECONDS = 60;
const LOOK_MS = 5;
const SILENT_LOOKS = 20;
/** A guest may have something to say all the time. */
const MOST_LOOKS = 200;
const POLL_MS = 50;
/** For a disconnect to be answered. */
const END_MS = 5000;
const KILL_MS = 2000;
/** In the place of an exit code. */
const NEVER_ENDED = -1;
