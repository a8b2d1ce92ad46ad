/**
 * `roce analyze`: what is wrong in a capture, which packets prove it, and what to do; or what counters say without one.
 *
 * Owns the command line and the exit code: 0 nothing above a note, 1 at least one error, 3 warnings only, 2 when the
 * input cannot be read to its end or the command line is wrong.
 */

import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { Command, InvalidArgumentError } from 'commander';
import { RoceError } from 'rocev2/errors';
import type { AnalyzerOptions, Finding } from 'rocev2/pcap';
import { Output, TextBuffer } from '../dump/output.ts';
import { refuseOverwriting } from '../dump/overwriting.ts';
import { fileErrorText } from '../file-error.ts';
import { isPipe } from '../pipe-chunks.ts';
import type { ProgressTerminal } from '../progress-line.ts';
import { visible, visibleLine } from '../visible-text.ts';
import { isDamage } from './damage.ts';
import type { PacketTaker } from './packet-feed.ts';
import { openCapture, openReading, parseJobs } from './read-capture.ts';

/** Standard streams, of the process or of a test. */
export interface Streams {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: Writable;
  readonly stderr: Writable & ProgressTerminal;
}

/** The options of the command line. */
export interface AnalyzeFlags {
  readonly json?: boolean;
  readonly conversation?: readonly number[];
  readonly events?: boolean;
  readonly verbose?: boolean;
  readonly write?: string;
  readonly interfacesTogether?: boolean;
  readonly icrc: boolean;
  readonly jobs?: number;
  readonly counters?: readonly string[];
}

export function analyzeCommand(): Command {
  const command = new Command('analyze')
    .description('what is wrong in a capture of RoCEv2, which packets prove it, and what to do')
    .argument('[files...]', 'capture file (pcap or pcapng), - for standard input; several: taken at several places')
    .option('--json', 'the whole analysis as one JSON object')
    .option('--conversation <id>', 'only this conversation, in full; may be repeated', collectId)
    .option('--events', 'list every loss, retransmission, NAK, timeout ...')
    .option('-v, --verbose', 'also explain each symptom, and show the figures behind it')
    .option('-w, --write <file>', 'write the capture again as pcapng, with the findings as comments on packets')
    .option('--interfaces-together', 'all interfaces are one place, such as the members of a LAG')
    .option('--no-icrc', 'do not verify ICRCs')
    .option('--jobs <n>', 'threads: 1, or 2 for a large file (default: by its size)', parseJobs)
    .option('--counters <snapshots...>', 'no capture: counters before and after, or folders with those of many hosts')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_BAD_INPUT))
    .action((files: readonly string[], flags: AnalyzeFlags) => run(command, files, flags));
  return command;
}

async function run(command: Command, files: readonly string[], flags: AnalyzeFlags): Promise<void> {
  const { write, counters, conversation, events } = flags;
  if (counters !== undefined) {
    if (files.length > 0) command.error('error: either a capture or --counters: one analysis is of one kind');
    if (write !== undefined || conversation !== undefined || events === true)
      command.error('error: counters have no packets: --write, --conversation and --events need a capture');
    process.exitCode = await compareCounters(counters, flags, process);
    return;
  }
  if (files.length === 0) command.error("error: missing required argument 'file'");
  if (write !== undefined && files.length > 1)
    command.error('error: --write copies one capture with its comments: merge several with mergecap first');
  if (files.filter((file) => file === '-').length > 1) command.error('error: standard input is one capture');
  if (write !== undefined && files[0] === '-')
    command.error('error: --write reads the capture a second time, and standard input is gone by then: give a file');
  if (write === '-' && flags.json === true)
    command.error('error: only one of the report and the capture can go to standard output');
  process.exitCode = await analyzeFiles(files, flags, process);
}

/** Compares counters and reports; resolves to the exit code. */
export async function compareCounters(
  paths: readonly string[],
  flags: Pick<AnalyzeFlags, 'json' | 'verbose'>,
  streams: Streams,
): Promise<number> {
  const { analyzeCounters, NoCountersError } = await import('../counters/index.ts');
  try {
    const { analysis, text } = analyzeCounters(paths, flags);
    await print(visible(text), streams.stdout);
    return exitCodeOf(analysis.findings);
  } catch (error) {
    if (!(error instanceof NoCountersError) && !isSystemError(error)) throw error;
    streams.stderr.write(visible(`roce analyze: ${error.message}\n`));
    return EXIT_BAD_INPUT;
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/**
 * Analyzes one file, or several as one capture, reports and writes as the flags say; resolves to the exit code.
 *
 * @param files one for `flags.write`
 */
export async function analyzeFiles(files: readonly string[], flags: AnalyzeFlags, streams: Streams): Promise<number> {
  const [file = ''] = files;
  try {
    return await analyze(files, file, flags, streams);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return complain(streams, file, error);
  }
}

async function analyze(files: readonly string[], file: string, flags: AnalyzeFlags, streams: Streams): Promise<number> {
  const { conversation: conversations = [], events = false, verbose = false, json = false, write } = flags;
  if (write !== undefined) {
    if (isPipe(file)) throw new RoceError('ERR_ROCE_ARGUMENT', WRITE_OF_PIPE);
    refuseOverwriting(file, write);
  }
  const reading = await openReading(files, flags, streams);
  // Most of the program. Loaded now, while the thread that reads starts.
  const [{ analyzeBy, narrowed }, { withPages }, { STANDARD_INPUT }, { reportLines }] = await Promise.all([
    import('./analyze.ts'),
    import('./finding-page.ts'),
    import('./findings-text.ts'),
    import('./report.ts'),
  ]);
  const read = (take: PacketTaker) => reading.read(take);
  const { analysis, interfaces, damage, damaged = file } = await analyzeBy(read, analyzerOptions(flags));
  // A file that is not there, or of which not even the beginning is a capture, has no analysis.
  if (damage !== undefined && analysis.capture.packets === 0) return complain(streams, damaged, damage);
  const known = analysis.conversations.map(({ id }) => id);
  const unknown = conversations.find((id) => !known.includes(id));
  if (unknown !== undefined) return complain(streams, file, new Error(noConversation(unknown, known)));
  if (write !== '-') {
    const options = {
      // Several files are no file that a command could be given.
      name: file === '-' || files.length > 1 ? STANDARD_INPUT : file,
      ...(files.length > 1 ? { title: files.join(', ') } : {}),
      // A name of more than one line would make lines of its own.
      interfaces: interfaces.map(visibleLine),
      conversations,
      events,
      verbose,
    };
    const object = conversations.length === 0 ? analysis : narrowed(analysis, conversations);
    const text = json ? JSON.stringify(withPages(object), undefined, 2) : reportLines(analysis, options).join('\n');
    await print(`${text}\n`, streams.stdout);
  }
  if (write !== undefined) {
    const out = write === '-' ? streams.stdout : createWriteStream(write);
    try {
      const { annotate } = await import('./annotate.ts');
      await annotate(openCapture(file, streams), analysis, out);
    } catch (error) {
      // A defect of the capture is reported below.
      if (damage === undefined || !isDamage(error) || 'path' in error) throw error;
    }
  }
  return damage === undefined ? exitCodeOf(analysis.findings) : complain(streams, damaged, damage);
}

function analyzerOptions({ interfacesTogether, icrc }: AnalyzeFlags): AnalyzerOptions {
  return { verifyIcrc: icrc, ...(interfacesTogether === undefined ? {} : { interfacesTogether }) };
}

async function print(text: string, stdout: Writable): Promise<void> {
  const buffer = new TextBuffer();
  buffer.add(text);
  await new Output(stdout, buffer).drained();
}

function complain({ stderr }: Streams, file: string, error: Error): number {
  // The message of the system names its file, which may be the output. A mistake in the command line has no file.
  const aboutInput = !('path' in error) && !(error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT');
  stderr.write(visible(`roce analyze: ${aboutInput ? `${file}: ` : ''}${fileErrorText(error)}\n`));
  return EXIT_BAD_INPUT;
}

function noConversation(id: number, known: readonly number[]): string {
  const there = known.length === 0 ? 'none at all' : `${known.length}, numbered ${known[0]} to ${known.at(-1)}`;
  return `there is no conversation ${id}; there ${known.length === 0 ? 'is' : 'are'} ${there}`;
}

function exitCodeOf(findings: readonly Pick<Finding, 'severity'>[]): number {
  if (findings.some(({ severity }) => severity === 'error')) return EXIT_ERRORS;
  return findings.some(({ severity }) => severity === 'warning') ? EXIT_WARNINGS : 0;
}

function collectId(text: string, previous: readonly number[] = []): number[] {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('the number of a conversation is expected.');
  return [...previous, Number(text)];
}

const WRITE_OF_PIPE = '--write reads the capture a second time, and a pipe is empty by then: give a file';
const EXIT_ERRORS = 1;
const EXIT_BAD_INPUT = 2;
const EXIT_WARNINGS = 3;
