/**
 * The wires of one case: a bump between the ports of two hosts for each, with the faults the case asks for, a capture
 * and an account. A wire without rules is a bump as well: one code path, and always a capture.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BumpAccount } from '../bump/account.ts';
import { type RunningBump, runBump } from '../bump/run.ts';
import { conductOf } from './names.ts';
import type { RunningHosts } from './stage.ts';
import type { CaseSpec, Experiment, WireSpec } from './types.ts';

/** The results of a wire when its case is over. */
export interface WireRecord {
  readonly name: string;
  readonly between: readonly [string, string];
  /** Path of the pcapng. Interfaces are described by the names of the hosts. */
  readonly capture: string;
  readonly account: BumpAccount;
}

export interface OpenWires {
  readonly wires: readonly { readonly name: string; readonly bump: RunningBump }[];
  /** Ends all wires; once all files are written. */
  stop(): Promise<readonly WireRecord[]>;
}

/**
 * Joins the hosts of a stage; `onFrame` is called for every frame that comes in anywhere. Rejects with RoceError
 * ERR_ROCE_ARGUMENT for a conduct that makes no sense.
 */
export async function openWires(
  stage: RunningHosts,
  { wires }: Experiment,
  spec: CaseSpec,
  directory: string,
  onFrame?: () => void,
): Promise<OpenWires> {
  const bumps: { readonly wire: WireSpec; readonly capture: string; readonly bump: RunningBump }[] = [];
  const stop = async (): Promise<WireRecord[]> =>
    Promise.all(
      bumps.map(async ({ wire: { name, between }, capture, bump }) => {
        return { name, between, capture, account: await bump.stop() };
      }),
    );
  try {
    for (const wire of wires) {
      const [a, b] = wire.between.map((name) => stage.hosts.get(name)?.port.lend(name));
      if (a === undefined || b === undefined) throw new RangeError(`no hosts for ${wire.name}`);
      const capture = join(directory, `${wire.name}.pcapng`);
      const accountPath = join(directory, `${wire.name}.json`);
      const conduct = conductOf(wire, spec);
      bumps.push({
        wire,
        capture,
        bump: await runBump({ a, b, ...conduct, capturePath: capture, accountPath, onFrame }),
      });
      // The rules of the wire, as `roce bump --rules` takes them.
      if (Object.keys(conduct).length > 0)
        writeFileSync(join(directory, `${wire.name}.rules.json`), `${JSON.stringify(conduct, null, 2)}\n`);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { wires: bumps.map(({ wire: { name }, bump }) => ({ name, bump })), stop };
}
