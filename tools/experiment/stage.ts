/**
 * The hosts of an experiment, up and running, each with a port for its wire. Booting takes seconds, so that a stage
 * serves many cases, and all experiments with the same hosts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootGuest } from './guest-host.ts';
import type { ExperimentHost } from './host.ts';
import { openNamespace } from './namespace-host.ts';
import { openStack } from './stack-host.ts';
import type { Experiment, HostSpec } from './types.ts';

export interface RunningHosts {
  readonly hosts: ReadonlyMap<string, ExperimentHost>;
  /** Ends all hosts. May be called more than once. */
  close(): Promise<void>;
}

/** Opens stages as they are needed, one at a time. */
export class HostPool {
  readonly #log: (line: string) => void;
  #key = '';
  #stage: RunningHosts | undefined;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /**
   * The stage of an experiment: the one that is there, when its hosts are the same. Rejects with RoceError for what
   * cannot be had here.
   */
  async for({ hosts }: Experiment): Promise<RunningHosts> {
    const specs = complete(hosts);
    const key = JSON.stringify(specs);
    if (this.#stage !== undefined && this.#key === key) return this.#stage;
    await this.close();
    this.#stage = await openStage(specs, this.#log);
    this.#key = key;
    return this.#stage;
  }

  /** Ends the hosts; the next case gets fresh ones. */
  async close(): Promise<void> {
    const stage = this.#stage;
    this.#stage = undefined;
    await stage?.close();
  }
}

async function openStage(
  specs: Readonly<Record<string, Complete>>,
  log: (line: string) => void,
): Promise<RunningHosts> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-stage-'));
  leftovers.add(directory);
  const hosts = new Map<string, ExperimentHost>();
  const close = async (): Promise<void> => {
    await Promise.all([...hosts.values()].map((host) => host.stop()));
    rmSync(directory, { recursive: true, force: true });
    leftovers.delete(directory);
  };
  const opened = await Promise.allSettled(
    Object.entries(specs).map(async ([name, spec]) => {
      log(`${name}: ${spec.kind === 'guest' ? `booting Linux ${spec.kernel}` : `a host of kind ${spec.kind}`}`);
      hosts.set(name, await openHost(spec, join(directory, `${name}.sock`), log));
    }),
  );
  const failure = opened.find(({ status }) => status === 'rejected');
  if (failure?.status !== 'rejected') return { hosts: inOrder(hosts, specs), close };
  await close();
  throw failure.reason;
}

/** Hosts in the order of the file, not in that of their booting. */
function inOrder(hosts: ReadonlyMap<string, ExperimentHost>, specs: object): Map<string, ExperimentHost> {
  return new Map([...hosts].sort(([a], [b]) => Object.keys(specs).indexOf(a) - Object.keys(specs).indexOf(b)));
}

type Complete = HostSpec & { readonly mac: string; readonly mtu: number };

/** With what a file may leave out, in one order of fields: who has the same is the same. */
function complete(specs: Experiment['hosts']): Record<string, Complete> {
  const entries = Object.entries(specs).map(([name, { mac, mtu, ...spec }], index): [string, Complete] => {
    const ownMac = `52:54:00:00:00:${(index + 1).toString(16).padStart(2, '0')}`;
    return [name, { ...spec, mac: mac ?? ownMac, mtu: mtu ?? 1500 }];
  });
  return Object.fromEntries(entries);
}

function openHost(spec: Complete, path: string, log: (line: string) => void): Promise<ExperimentHost> {
  switch (spec.kind) {
    case 'guest':
      return bootGuest(spec, path, log);
    case 'stack':
      return openStack(spec, path);
    case 'namespace':
      return openNamespace(spec);
  }
}

/** Directories that are still there; a node that exits in the middle leaves none behind. */
const leftovers = new Set<string>();
process.on('exit', () => {
  for (const directory of leftovers) rmSync(directory, { recursive: true, force: true });
});
