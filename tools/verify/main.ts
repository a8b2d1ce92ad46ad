/**
 * `roce verify`: every field of every frame of a capture, against tshark.
 *
 * Owns the command line. Exit codes: 0 nothing unexpected, 1 differences that nothing explains, 2 the file cannot be
 * read, tshark is not there, or the command line makes no sense.
 */

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Command, InvalidArgumentError } from 'commander';
import { RoceError } from 'rocev2/packets';
import { fileErrorText } from '../file-error.ts';
import { terminal } from '../output.ts';
import { isPipe, pipeChunks } from '../pipe-chunks.ts';
import { tsharkAvailable } from '../tshark.ts';
import { differenceLine, expectationLines, summaryJson, summaryLines } from './report.ts';
import { type FrameDifference, type VerifySummary, verifyFile } from './verify.ts';

interface VerifyFlags {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly limit: number;
  readonly expectations?: boolean;
}

/** The command. */
export function verifyCommand(): Command {
  const command = new Command('verify')
    .description("compare every field of every frame of a capture with tshark's dissection")
    .argument('[file]', 'capture file (pcap or pcapng), - for standard input')
    .option('--all', 'print expected differences too')
    .option('--limit <count>', 'print at most so many differences; all are counted', parseCount, DEFAULT_LIMIT)
    .option('--json', 'one JSON object: the account and the differences')
    .option('--expectations', 'print the table of what tshark is known to be wrong about or blind to, and end')
    .action((file: string | undefined, flags: VerifyFlags) => run(command, file, flags));
  return command;
}

async function run(command: Command, file: string | undefined, flags: VerifyFlags): Promise<void> {
  if (flags.expectations) {
    terminal.line(expectationLines().join('\n'));
    return;
  }
  if (file === undefined) command.error('error: a capture file is missing');
  const { available, version, reason } = tsharkAvailable();
  if (!available) {
    fail(`tshark is needed to compare with, and is not there: ${reason}`);
    return;
  }
  // `roce verify ... | head` is no error.
  process.stdout.on('error', () => process.exit(EXIT_DIFFERENT));
  const kept: FrameDifference[] = [];
  const onDifference = (difference: FrameDifference): void => {
    if ((difference.expectation !== undefined && flags.all !== true) || kept.length >= flags.limit) return;
    kept.push(difference);
    if (flags.json !== true) terminal.line(differenceLine(difference));
  };
  const print = (summary: VerifySummary): void => {
    if (flags.json) terminal.line(JSON.stringify(summaryJson(file, version, summary, kept), null, 2));
    else terminal.line(summaryLines(summary, version).join('\n'));
  };
  const onUnreadable = (before: VerifySummary): void => {
    if (before.frames > 0) print(before);
  };
  try {
    const summary = await withFile(file, (path) => verifyFile(path, { version, onDifference, onUnreadable }));
    print(summary);
    process.exitCode = summary.unexpected === 0 ? 0 : EXIT_DIFFERENT;
  } catch (error) {
    if (!isBadInput(error)) throw error;
    fail('path' in error ? error.message : `${file}: ${fileErrorText(error)}`);
  }
}

/** Gives `use` the path of the file, or that of a copy of what comes through a pipe, which two readers cannot share. */
async function withFile<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
  if (file !== '-' && !isPipe(file)) return use(file);
  const folder = await mkdtemp(join(tmpdir(), 'roce-verify-'));
  try {
    const copy = join(folder, 'copy');
    await pipeline(file === '-' ? process.stdin : pipeChunks(file), createWriteStream(copy));
    return await use(copy);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function fail(message: string): void {
  terminal.complaint(`roce verify: ${message}`);
  process.exitCode = EXIT_BAD_INPUT;
}

/** A file that is malformed, missing or unreadable; anything else is our own fault and keeps its stack. */
function isBadInput(error: unknown): error is Error {
  return error instanceof RoceError || (error instanceof Error && 'syscall' in error && 'code' in error);
}

function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}

const DEFAULT_LIMIT = 100;
const EXIT_DIFFERENT = 1;
const EXIT_BAD_INPUT = 2;
