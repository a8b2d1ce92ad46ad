/**
 * What an experiment would run, and where, before it does: a file of somebody else is a script of somebody else. Owns
 * the question which commands reach this machine. Runs nothing.
 */
import type { Experiment, HostSpec } from './types.ts';

/** One command of an experiment. */
export interface PlannedCommand {
  readonly host: string;
  readonly kind: HostSpec['kind'];
  readonly command: string;
}

/** The commands in the order of the file, each once. @param only the case that is run; absent: all */
export function plannedCommands({ hosts, cases }: Experiment, only?: string): PlannedCommand[] {
  const planned = new Map<string, PlannedCommand>();
  for (const { name, run } of cases) {
    if (only !== undefined && name !== only) continue;
    for (const step of run) {
      const kind = 'command' in step ? hosts[step.host]?.kind : undefined;
      if (!('command' in step) || kind === undefined) continue;
      const { host, command } = step;
      planned.set(JSON.stringify([host, command]), { host, kind, command });
    }
  }
  return [...planned.values()];
}

/** "bob, a shell of this machine (sh -c, as root): rm -rf /". */
export function plannedText({ host, kind, command }: PlannedCommand): string {
  return `will run on ${host}, ${PLACES[kind]}: ${command}`;
}

/** Whether a command runs in a shell of this machine. A network namespace separates nothing but networks. */
export function reachesThisMachine({ kind }: PlannedCommand): boolean {
  return kind === 'namespace';
}

const PLACES: Readonly<Record<HostSpec['kind'], string>> = {
  stack: 'a program of ours in this process',
  guest: 'a shell of a virtual machine',
  namespace: 'a shell of this machine (sh -c, as root)',
};
