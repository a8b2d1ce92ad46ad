/**
 * `roce conformance --lumina`: live traffic behind a bump, judged. Owns texts, captures and the exit code, as those of
 * a suite.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { terminal } from '../../output.ts';
import { luminaExitCode, luminaText } from './report.ts';
import { runLumina } from './run.ts';

export interface PlayOptions {
  readonly seed: number;
  /** Plain passes too. */
  readonly all: boolean;
  /** Directory for captures. */
  readonly out: string;
  readonly log: (line: string) => void;
}

/**
 * Plays all scenarios with a device, in-process or of the lab, and prints what came of it. @throws RoceError for a
 * device that cannot be behind a bump of ours
 */
export async function playLumina(dut: string, { seed, all, out, log }: PlayOptions): Promise<number> {
  const folder = join(out, `lumina-${dut.replace(/[^\w.-]+/g, '-')}`);
  mkdirSync(folder, { recursive: true });
  const report = await runLumina(dut, {
    ...{ seed, log },
    progress: ({ scenario, requester, capture }) => {
      const file = join(folder, `${scenario}-${requester}.pcapng`);
      writeFileSync(file, capture);
      log(file);
    },
  });
  terminal.line(`${luminaText(report, { all })}`);
  return luminaExitCode(report);
}
