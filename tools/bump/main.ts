/**
 * `roce bump`: faults on a wire between two others, by rule and by chance, and congestion.
 * Owns the command line, the line a second on a terminal, and the summary at the end. It runs until ctrl-C,
 * `--duration` or the loss of a link.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { FAULT_DIRECTIONS, type FaultDirection } from 'rocev2/faults';
import { linkUsage, openLink } from 'rocev2/node';
import { defined } from 'rocev2/packets';
import { exitWith, integer, parser } from '../options.ts';
import { overwriteLine, terminal } from '../output.ts';
import { formatTable, grouped } from '../table.ts';
import { type BumpAccount, FRAME_FATES } from './account.ts';
import { addFaultOptions, type FaultFlags, typedFaults } from './fault-options.ts';
import type { RulesFile } from './rules-file.ts';
import { type RunBumpOptions, type RunningBump, runBump } from './run.ts';

interface BumpFlags extends FaultFlags {
  readonly a: string;
  readonly b: string;
  readonly notify?: true;
  readonly notifyInterval?: number;
  readonly notifyDscp?: number;
  readonly notifyBecn?: 0 | 1;
  readonly write?: string;
  readonly account?: string;
  readonly duration?: number;
}

export function bumpCommand(): Command {
  const link = parser((text: string) => openLink(text) && text);
  const command = new Command('bump')
    .description(
      'stand between two Ethernet links and drop, delay, corrupt, mark or rewrite what passes, by rule or chance',
    )
    .addOption(
      new Option('--a <link>', `one side: ${linkUsage()}; "roce links" describes each`)
        .argParser(link)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--b <link>', 'the other side').argParser(link).makeOptionMandatory());
  return addNotifyOptions(addFaultOptions(command))
    .option('--write <file>', 'write both sides to a pcapng file, with a comment on every frame that was touched')
    .option('--account <file>', 'write what was done to a JSON file')
    .option('--duration <seconds>', 'end by itself', integer(1, 1_000_000))
    .action(run);
}

function addNotifyOptions(command: Command): Command {
  return command
    .option(
      '--notify',
      'send congestion notifications (CNPs) to senders of what it marks, for receivers that send none',
    )
    .option(
      '--notify-interval <us>',
      'microseconds between those of a flow (default: 50); implies --notify',
      integer(0, 1e9),
    )
    .option('--notify-dscp <number>', 'their DSCP (default: 48); implies --notify', integer(0, 63))
    .addOption(new Option('--notify-becn <bit>', 'their BECN (default: 1); implies --notify').argParser(integer(0, 1)));
}

async function run(flags: BumpFlags): Promise<void> {
  const running = await runBump({
    ...bumpOptions(flags),
    captureFailed: ({ message }) => terminal.complaint(`roce bump: ${message}; frames are still forwarded`),
  });
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (): void => {
    if (signal.aborted) process.exit(EXIT_INTERRUPTED);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  // A program that waits for the bump to be ready reads this line.
  terminal.complaint(`roce bump: forwarding between ${flags.a} and ${flags.b}`);
  try {
    const lost = await untilEnd(running, flags, signal);
    const account = await running.stop();
    terminal.line(reportLines(account).join('\n'));
    if (lost !== undefined) throw lost;
    if (account.captureError !== undefined) exitWith(EXIT_CAPTURE_ENDED);
    if (signal.aborted) exitWith(EXIT_INTERRUPTED);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await running.stop();
  }
}

/** Resolves at the end, with the reason when a link was lost. */
async function untilEnd(running: RunningBump, { duration }: BumpFlags, signal: AbortSignal) {
  const end = duration === undefined ? Infinity : performance.now() + duration * 1000;
  let ended = false;
  const closed = running.closed.finally(() => {
    ended = true;
  });
  while (!ended && !signal.aborted) {
    const leftMs = end - performance.now();
    if (leftMs <= 0) return undefined;
    // The timer keeps the process alive, whatever the links do.
    await Promise.race([delay(Math.min(leftMs, 1000), undefined, { signal }).catch(() => undefined), closed]);
    overwriteLine(progress(running));
  }
  if (process.stderr.isTTY) terminal.complaint('');
  return ended ? closed : undefined;
}

function bumpOptions(flags: BumpFlags): RunBumpOptions {
  const { rules: file, write, account } = flags;
  const notify = notifyOptions(flags, file?.notify);
  return {
    a: openLink(flags.a),
    b: openLink(flags.b),
    ...typedFaults(flags),
    ...defined({ notify, capturePath: write, accountPath: account }),
  };
}

/** Those of the flags, in the place of those of a file. */
function notifyOptions(flags: BumpFlags, file: RulesFile['notify']): RulesFile['notify'] {
  const { notify, notifyInterval, notifyDscp, notifyBecn } = flags;
  const asked = {
    ...(notifyInterval === undefined ? {} : { minTimeBetweenCnpsNs: notifyInterval * 1000 }),
    ...defined({ cnpDscp: notifyDscp, becn: notifyBecn }),
  };
  if (Object.keys(asked).length > 0) return { ...(typeof file === 'object' ? file : {}), ...asked };
  return file === undefined || file === false ? notify : file;
}

function progress({ bump }: RunningBump): string {
  return FAULT_DIRECTIONS.map((direction) => {
    const { frames, dropped, marked } = bump.counters[direction];
    const marks = marked === 0 ? '' : `, ${grouped(marked)} marked`;
    return `${direction} ${grouped(frames)} frames, ${grouped(dropped)} dropped${marks}`;
  }).join('; ');
}

function reportLines({ directions, rules, connections, events, eventsOmitted, notifications }: BumpAccount): string[] {
  const counts = (direction: FaultDirection): string[] => [
    direction,
    ...COLUMNS.map((column) => grouped(directions[direction][column])),
  ];
  const right = COLUMNS.map(() => 'right' as const);
  const lines = formatTable(['', ...COLUMNS], FAULT_DIRECTIONS.map(counts), ['left', ...right]);
  for (const { name, matches, applied, impossible } of rules) {
    const failed = impossible === 0 ? '' : `, impossible for ${grouped(impossible)}`;
    lines.push(`  ${name}: matched ${grouped(matches)}, applied to ${grouped(applied)}${failed}`);
  }
  for (const direction of FAULT_DIRECTIONS) {
    const { peakQueueBytes } = directions[direction];
    if (peakQueueBytes > 0) lines.push(`  ${direction}: ${grouped(peakQueueBytes)} bytes at most waited for the rate`);
    const counts = notifications?.[direction];
    if (counts === undefined || counts.marked === 0) continue;
    const [marked, sent] = [grouped(counts.marked), grouped(counts.cnpSent)];
    const [soon, unknown, unsent] = [counts.filtered, counts.unknownSender, counts.unsent].map(grouped);
    lines.push(
      `  ${direction}: ${sent} CNPs sent back for ${marked} marked packets; ${soon} came too soon, ${unknown} from unknown senders, ${unsent} failed`,
    );
  }
  lines.push(`  ${grouped(connections.length)} connections, ${grouped(events.length + eventsOmitted)} frames touched`);
  return lines;
}

const COLUMNS = ['frames', ...FRAME_FATES] as const;

/** All was forwarded, and not all captured. */
const EXIT_CAPTURE_ENDED = 1;
const EXIT_INTERRUPTED = 130;
