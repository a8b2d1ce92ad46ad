/**
 * `roce conformance --properties N`: random sequences against a device, what differs as ladders in files. Owns words
 * and exit codes.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from 'rocev2/packets';
import { terminal } from '../../output.ts';
import { PROFILES, type Profile } from '../model/profiles.ts';
import { printScript, symbolic } from '../script/print.ts';
import type { Dut } from '../tester/dut.ts';
import { type Counterexample, type PropertyReport, runProperties } from './run-properties.ts';
import { testerSubject } from './tester-subject.ts';

export interface PropertiesOptions {
  readonly runs: number;
  readonly seed: number;
  /** Directory for counterexamples. */
  readonly out: string;
  readonly budgetMs?: number;
  /** Sends what a device may not survive to devices that may not be crashed too; default false. */
  readonly hazardous?: boolean;
}

/** Plays every property and prints a line for each. Returns the exit code: as that of a suite. */
export async function playProperties(dut: Dut, options: PropertiesOptions): Promise<number> {
  const { runs, seed, budgetMs } = options;
  const known = profileOf(dut);
  const profile = options.hazardous === true ? known : sparing(known, dut);
  const reports = await runProperties({
    subject: testerSubject(dut, seed),
    ...{ profile, runs, seed },
    ...defined({ budgetMs }),
  });
  if (profile !== known)
    terminal.line('not run: hazardous packets are left out of the sequences; --hazardous sends them');
  for (const report of reports) {
    terminal.line(lineOf(report));
    if (report.counterexample !== undefined) keep(report, options.out);
  }
  if (reports.some(({ counterexample, killed }) => counterexample !== undefined || killed !== undefined)) return 1;
  return reports.some(({ skipped, inconclusive, cutShort }) => skipped !== undefined || inconclusive > 0 || cutShort)
    ? 3
    : 0;
}

/** What is known of a device is not to hide what is not. */
export function profileOf({ device, version }: Pick<Dut, 'device' | 'version'>): Profile {
  const name = `${device}-${version}`;
  return Object.entries(PROFILES).find(([one]) => one === name)?.[1] ?? PROFILES.strict;
}

/** The profile without what the device may not survive, where it may not be crashed. */
export const sparing = (profile: Profile, { throwAway }: Pick<Dut, 'throwAway'>): Profile =>
  throwAway || profile.fragile ? profile : { ...profile, fragile: true };

function lineOf(report: PropertyReport): string {
  const { property, runs, packets, inconclusive, astray, cutShort, skipped, counterexample, killed, tookMs } = report;
  if (skipped !== undefined) return `${property}: not run: ${skipped}`;
  const played = `${runs} sequences, ${packets} packets, ${(tookMs / 1000).toFixed(1)} s`;
  const open = inconclusive === 0 ? '' : `, ${inconclusive} inconclusive (${report.reasons.join('; ')})`;
  const aside = astray === 0 ? '' : `, ${astray} led astray by what is known of the device`;
  const rest = `${played}${open}${aside}${cutShort ? ', cut short by the budget' : ''}`;
  if (killed !== undefined) return [`${property}: KILLED: ${killed.why}; ${rest}`, ...killed.lines].join('\n  ');
  if (counterexample === undefined) return `${property}: holds; ${rest}`;
  const { ruleId, difference, lines } = counterexample;
  return [`${property}: DIFFERS (${ruleId}): ${difference}; ${rest}`, ...lines].join('\n  ');
}

/** The shortest sequence as a ladder that can be played again; addresses and keys of the region go by name. */
function keep({ property, seed, counterexample }: PropertyReport, out: string): void {
  if (counterexample === undefined) return;
  mkdirSync(out, { recursive: true });
  const file = join(out, `${property}-${counterexample.ruleId}.ladder`);
  writeFileSync(file, counterexampleLadder(property, seed, counterexample));
  terminal.line(`  kept as ${file}`);
}

/** What was sent, as a script; what was seen, and what else was done, are comments of it. */
export function counterexampleLadder(property: string, seed: number, counterexample: Counterexample): string {
  const { ruleId, difference, packets, path, lines, connection } = counterexample;
  const { options = { mtu: 256 }, region } = connection ?? {};
  const sent = packets.map((packet) => ({
    kind: 'tx' as const,
    packet: region === undefined ? packet : symbolic(packet, region),
  }));
  const title = [`${property}, seed ${seed}, path ${path}`, `${ruleId}: ${difference}`, '', ...lines].join('\n');
  return printScript([{ kind: 'connect', options }, ...sent], title);
}
