/**
 * The command `roce conformance`: which rules of the registry a device keeps. Owns texts, files and exit codes: 0
 * nothing failed that is not known, 1 something did, 2 a command line that makes no sense, 3 nothing failed but
 * something was left open.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Command, Option } from 'commander';
import { RoceError } from 'rocev2/packets';
import { address, collect, integer, macAddress, parser, prefix } from '../options.ts';
import { terminal } from '../output.ts';
import { ProgressLine } from '../progress-line.ts';
import { type DutFlags, openDut } from './duts/open.ts';
import { FEATURES, type Feature } from './host-control/host-control.ts';
import { matchRules, RULES } from './rules/index.ts';
import type { ConformanceRule } from './rules/types.ts';
import { junit, resultFile } from './runner/files.ts';
import { exitCodeOf, progressLine, summaryLine, verdictName, verdictTable } from './runner/report.ts';
import { runCase } from './runner/run-case.ts';
import { nothingJudged, runSuite, type SuiteResult } from './runner/suite.ts';
import { isHazardous, parseScript } from './script/parse.ts';
import { scriptCase } from './script/play.ts';
import type { Dut } from './tester/dut.ts';

interface Flags extends DutFlags {
  readonly rules?: readonly ConformanceRule[];
  readonly priority?: number;
  readonly script?: string;
  readonly properties?: number;
  readonly long?: boolean;
  readonly lumina?: boolean;
  readonly list?: boolean;
  readonly json?: string;
  readonly junit?: string;
  readonly out: string;
  readonly strict?: boolean;
  readonly quiet?: boolean;
  readonly hazardous?: boolean;
}

export function conformanceCommand(): Command {
  return new Command('conformance')
    .description('which of the rules for RoCEv2 devices a device keeps: stimuli, verdicts, a capture for each')
    .option(
      '--dut <device>',
      'in-process (our own stack), lab:KERNEL (rdma_rxe in a guest), or the address of a device',
      'in-process',
    )
    .option(
      '--agent <host:port>',
      "the agent on the device's host (docs/conformance-agent.md); without it only the wire is tested",
    )
    .option('--link <link>', 'the wire that the device is on; "roce links" lists them')
    .addOption(
      new Option('--ip <address/prefix>', 'an address of ours on it; may be repeated').argParser(collect(prefix)),
    )
    .option('--mac <address>', 'our MAC address (default: a random one)', parser(macAddress))
    .option('--mtu <bytes>', 'largest IP packet on the wire', integer(576, 9216))
    .option('--gateway <address>', 'router towards the device', parser(address))
    .option(
      '--target-port <port>',
      'where the target of a device without agent listens (default: 7471)',
      integer(1, 65_535),
    )
    .option(
      '--features <list>',
      `what a device without agent can do beyond RC: ${FEATURES.join(', ')}, separated by commas`,
      parser(featureList),
    )
    .option('--rules <globs>', 'which rules: ids with * and ?, separated by commas (default: all)', parser(matchRules))
    .option('--priority <number>', 'rules up to this priority only, 1 to 3', integer(1, 3))
    .option('--seed <number>', 'of all chance', integer(0, 0xff_ff_ff_ff), 1)
    .option('--script <file>', 'play a ladder instead (docs/conformance.md)')
    .option(
      '--properties <runs>',
      'sequences by chance instead of rules, that many of each property',
      integer(1, 1_000_000),
    )
    .option('--long', 'ten times as many')
    .option(
      '--lumina',
      'go-back-N, NAKs, counters and CNPs of live traffic behind a bump instead (docs/conformance-lumina.md)',
    )
    .option('--list', 'print the rules and end')
    .option('--out <directory>', 'where captures go, below a folder of the device', 'conformance-out')
    .option('--json <file>', 'write the verdicts as JSON')
    .option('--junit <file>', 'write the verdicts as JUnit XML')
    .option('--strict', 'exit code 1 for every must or should that is broken, known deviations included')
    .option(
      '--hazardous',
      'also what the device may not survive; without it only our own stack and guests of the lab get that',
    )
    .option('--quiet', 'only what is no plain pass, and the sum')
    .action(async (flags: Flags, command: Command) => {
      try {
        await conform(flags);
      } catch (error) {
        // Options that do not fit together are a wrong command line, as a wrong option is.
        if (error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT') command.error(`error: ${error.message}`);
        throw error;
      }
    });
}

async function conform(flags: Flags): Promise<void> {
  const rules = (flags.rules ?? RULES).filter(({ priority }) => priority <= (flags.priority ?? 3));
  if (flags.list === true) {
    for (const { id, level, role, says } of rules) terminal.line(`${id}  ${level}, ${role}: ${says}`);
    return;
  }
  if (flags.script !== undefined) return playScript(flags, flags.script);
  if (flags.lumina === true) return lumina(flags);
  if (flags.properties !== undefined) return properties(flags, flags.properties);
  report(await judged(flags, rules), flags);
}

/** Runs the rules; where there is no device to run them against, that is what every verdict says. */
async function judged(flags: Flags, rules: readonly ConformanceRule[]): Promise<SuiteResult> {
  let dut: Dut;
  try {
    dut = await openDut(flags, say);
  } catch (error) {
    if (!(error instanceof RoceError) || error.code === 'ERR_ROCE_ARGUMENT') throw error;
    return nothingJudged(flags.dut, rules, flags.seed, error.message);
  }
  const bar = new ProgressLine(process.stderr, { quiet: false, nowMs: () => performance.now() });
  try {
    const folder = join(flags.out, dut.name.replace(/[^\w.-]+/g, '-'));
    mkdirSync(folder, { recursive: true });
    return await runSuite(dut, {
      seed: flags.seed,
      hazardous: flags.hazardous === true,
      rules,
      now: () => performance.now(),
      keep: (name, capture) => {
        const file = join(folder, name);
        writeFileSync(file, capture);
        return file;
      },
      progress: (one, run, verdicts, done, all) => {
        bar.clear();
        if (flags.quiet !== true || run.died) say(progressLine(one, verdicts, done, all));
        bar.update(done / all, `${done} of ${all} cases`);
      },
    });
  } finally {
    bar.clear();
    await dut.close();
  }
}

function report(result: SuiteResult, flags: Flags): void {
  terminal.line(`${verdictTable(result, { all: flags.quiet !== true })}`);
  for (const death of result.deaths) terminal.line(`died: ${death}`);
  terminal.line(summaryLine(result));
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(resultFile(result), undefined, 1)}\n`);
  if (flags.junit !== undefined) writeFileSync(flags.junit, junit(result));
  process.exitCode = exitCodeOf(result, { strict: flags.strict === true });
}

async function lumina({ dut, seed, quiet, out }: Flags): Promise<void> {
  const { playLumina } = await import('./lumina/command.ts');
  process.exitCode = await playLumina(dut, { seed, all: quiet !== true, out, log: say });
}

async function properties(flags: Flags, runs: number): Promise<void> {
  const { playProperties } = await import('./properties/command.ts');
  const dut = await openDut(flags, say);
  try {
    const { seed, out, hazardous = false } = flags;
    const options = { runs: runs * (flags.long === true ? 10 : 1), seed, out, hazardous };
    process.exitCode = await playProperties(dut, options);
  } finally {
    await dut.close();
  }
}

/** One ladder, one verdict; exit codes as those of a whole run. */
async function playScript(flags: Flags, file: string): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const one = scriptCase(basename(file), parseScript(text), { hazardous: isHazardous(text) });
  const dut = await openDut(flags, say);
  try {
    const run = await runCase(dut, one, { seed: flags.seed, hazardous: flags.hazardous === true });
    mkdirSync(flags.out, { recursive: true });
    const capture = join(flags.out, `${basename(file).replace(/\.\w+$/, '')}.pcapng`);
    writeFileSync(capture, run.capture);
    const verdict = run.verdict === 'not-run' ? verdictName(run) : run.verdict;
    terminal.line(`${file}: ${verdict}${run.reason === '' ? '' : `: ${run.reason}`} (${capture})`);
    // What was not played has shown nothing.
    process.exitCode = run.verdict === 'fail' ? 1 : run.verdict === 'pass' || run.verdict === 'variation' ? 0 : 3;
  } finally {
    await dut.close();
  }
}

/** @throws RoceError ERR_ROCE_ARGUMENT for a word that is none of them */
function featureList(text: string): readonly Feature[] {
  return text.split(',').map((word) => {
    const feature = FEATURES.find((one) => one === word);
    if (feature === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', `'${word}' is none of ${FEATURES.join(', ')}`);
    return feature;
  });
}

function say(line: string): void {
  terminal.complaint(`roce conformance: ${line}`);
}
