/**
 * `roce dump`: what is in a capture file, or on a wire.
 *
 * Owns the command line. Exit codes: 0 done, 2 the input cannot be read or the command line makes no sense.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { defined, RoceError } from 'rocev2/packets';
import { compileFilter, filterHelp } from 'rocev2/pcap/filter';
import { fileErrorText } from '../file-error.ts';
import { addLinkOptions, type LinkFlags, withDevice } from '../options.ts';
import { terminal } from '../output.ts';
import { isPipe, pipeChunks } from '../pipe-chunks.ts';
import { type DumpOptions, dumpFrames } from './dump.ts';
import { FileSource } from './file-source.ts';
import { LiveSource } from './live-source.ts';
import { refuseOverwriting } from './overwriting.ts';
import type { CaptureSource } from './source.ts';
import { TIME_FORMATS, type TimeFormat } from './time-text.ts';

interface DumpFlags extends Partial<LinkFlags> {
  readonly read?: string;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly fields?: readonly string[];
  readonly separator?: string;
  readonly header?: boolean;
  readonly ladder?: boolean;
  readonly marks?: boolean;
  readonly time?: TimeFormat;
  readonly count?: number;
  readonly quiet?: boolean;
  readonly filterHelp?: boolean;
}

/** Where packets come from and which of them are wanted. */
interface Input {
  /** Undefined: a link. */
  readonly file: string | undefined;
  readonly filter: string;
}

export function dumpCommand(): Command {
  const command = new Command('dump')
    .description('print the frames of a capture file (pcap or pcapng) or of a wire, RoCEv2 in full')
    .usage('[options] [file] [filter...]')
    .argument('[words...]', 'capture file, - for standard input, and a filter such as "nak or rnr"')
    .option('-r, --read <file>', 'the capture file; all words are then the filter')
    .option('-c, --count <count>', 'stop after this many frames that pass the filter', parseCount)
    .option('-v, --verbose', 'all fields of every frame')
    .option('--json', "one JSON object a frame, keys named as tshark's fields")
    .option('--fields <names>', 'only these fields, separated by tabs: tshark names with commas between', parseNames)
    .option('--separator <text>', 'with --fields, the text between columns')
    .option('--header', 'with --fields, their names in a first line')
    .option('--ladder', 'arrows between hosts, as wide as the terminal')
    .option('--marks', 'say what each frame is to those before: retransmission, gap, late ...')
    .addOption(new Option('-t, --time <format>', 'how times are shown').choices(TIME_FORMATS).default('relative'))
    .option('-q, --quiet', 'print nothing, only write')
    .option('--filter-help', 'print the filter language')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_BAD_INPUT))
    .action((words: string[], flags: DumpFlags) => run(command, words, flags));
  addLinkOptions(command, { optional: true });
  const write = command.options.find(({ long }) => long === '--write');
  if (write !== undefined) {
    write.short = '-w';
    write.flags = `-w, ${write.flags}`;
    write.description = 'write the frames that pass to a pcapng file, - for standard output';
  }
  return command;
}

async function run(command: Command, words: readonly string[], flags: DumpFlags): Promise<void> {
  if (flags.filterHelp === true) {
    terminal.line(filterHelp(terminalWidth()).join('\n'));
    return;
  }
  const { file, filter } = inputOf(command, words, flags);
  try {
    const options = dumpOptions(filter, flags);
    if (file !== undefined && flags.write !== undefined) refuseOverwriting(file, flags.write);
    if (file === undefined) await dumpLink(command, flags, options);
    else await dumpFrames(openFile(file), { ...options, ...captureOptions(flags) }, process.stdout);
  } catch (error) {
    if (!isBadInput(error)) throw error;
    // The message of the system names its file, which may be the output. A mistake in the command line has no file.
    const aboutInput =
      !('path' in error) && !isWriteError(error) && !(error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT');
    const subject = aboutInput
      ? `${file ?? flags.link}: `
      : isWriteError(error)
        ? `${flags.write ?? 'standard output'}: `
        : '';
    terminal.complaint(`roce dump: ${subject}${fileErrorText(error)}`);
    process.exitCode = EXIT_BAD_INPUT;
  }
}

/**
 * As in tcpdump: options give the source of packets, and all words are the filter. Without such an option the first
 * word is a file.
 */
function inputOf(command: Command, words: readonly string[], { link, read }: DumpFlags): Input {
  if (link !== undefined && read !== undefined) command.error(ONE_INPUT);
  if (link !== undefined || read !== undefined) return { file: read, filter: words.join(' ') };
  const [file, ...rest] = words;
  if (file === undefined) command.error(ONE_INPUT);
  return { file, filter: rest.join(' ') };
}

/** @throws RoceError ERR_ROCE_ARGUMENT for a filter or a field that makes no sense */
function dumpOptions(filter: string, flags: DumpFlags): DumpOptions {
  const { fields, separator, header = false, ladder, marks = false, json, verbose, time, count, quiet = false } = flags;
  const columns = { header, ...(separator === undefined ? {} : { separator: unescaped(separator) }) };
  return {
    ...(filter.trim() === '' ? {} : { filter: compileFilter(filter) }),
    ...defined({ verbose, json }),
    ...(fields === undefined ? {} : { fields: { names: fields, ...columns } }),
    ...(ladder === true ? { ladder: { width: terminalWidth(), color: process.stdout.isTTY } } : {}),
    ...defined({ time, count }),
    analyze: marks,
    quiet,
  };
}

function openFile(file: string): CaptureSource {
  if (file === '-') return new FileSource(process.stdin, { live: true });
  if (isPipe(file)) return new FileSource(pipeChunks(file), { live: true });
  return new FileSource(createReadStream(file, { highWaterMark: READ_BYTES }));
}

/** Opens a device, which answers ARP and neighbour discovery, and prints the frames on its link. */
async function dumpLink(command: Command, flags: DumpFlags, options: DumpOptions): Promise<void> {
  const { ip, link } = flags;
  if (link === undefined) command.error(ONE_INPUT);
  if (ip === undefined) command.error('error: --link needs --ip, an address of ours on that wire');
  const source = new LiveSource();
  const dump = async (_device: unknown, interrupted: AbortSignal): Promise<void> => {
    interrupted.addEventListener('abort', () => source.close());
    // As tcpdump does: scripts wait for this line.
    terminal.complaint(`roce dump: listening on ${link}`);
    await dumpFrames(source, { ...options, ...captureOptions(flags) }, process.stdout);
  };
  await withDevice({ ...flags, link, ip }, dump, (wire) => source.attach(wire));
  if (source.dropped > 0) terminal.complaint(`roce dump: ${source.dropped} frames dropped, the reader was too slow`);
}

function captureOptions({ write }: DumpFlags): Pick<DumpOptions, 'capture' | 'quiet'> {
  if (write === undefined) return {};
  return write === '-' ? { capture: process.stdout, quiet: true } : { capture: createWriteStream(write) };
}

/**
 * A malformed, missing or unreadable file, or a wrong filter. Any other error is a bug of this project and keeps its
 * stack.
 */
function isBadInput(error: unknown): error is Error {
  return error instanceof RoceError || (error instanceof Error && 'syscall' in error && 'code' in error);
}

/** A full disk, say: what was read is in order, and what is written ends there. */
function isWriteError(error: Error): boolean {
  return 'syscall' in error && error.syscall === 'write';
}

function terminalWidth(): number {
  return process.stdout.columns ?? DEFAULT_WIDTH;
}

function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}

function parseNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) throw new InvalidArgumentError('names with commas between them are expected.');
  return names;
}

/** Shells make it hard to type a tab. */
function unescaped(text: string): string {
  return text.replaceAll('\\t', '\t').replaceAll('\\n', '\n');
}

const ONE_INPUT = 'error: give a capture file or --link, and only one';
const EXIT_BAD_INPUT = 2;
const READ_BYTES = 1024 * 1024;
const DEFAULT_WIDTH = 100;
