/**
 * `roce dump`: what is in a capture file, or on a wire.
 *
 * Owns the command line. Exit codes: 0 done, 2 the input cannot be read or the command line makes no sense.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { RoceError } from '../../packets/errors.ts';
import { type CaptureSource, dumpFrames } from './dump.ts';
import { FileSource } from './file-source.ts';

/** Opens a link for capture by the text given to `--link`. */
export type OpenLink = (link: string) => Promise<CaptureSource>;

interface DumpFlags {
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly count?: number;
  readonly write?: string;
  readonly link?: string;
}

/** The command; `--link` is offered when `openLink` is given. */
export function dumpCommand(openLink?: OpenLink): Command {
  const command = new Command('dump')
    .description('print the frames of a capture file (pcap or pcapng), RoCEv2 in full')
    .argument('[file]', 'capture file, - for standard input')
    .option('-v, --verbose', 'all fields of every frame')
    .option('--json', "one JSON object a frame, keys named as tshark's fields")
    .option('-c, --count <count>', 'stop after this many frames', parseCount)
    .option('--write <file>', 'also write the frames as pcapng; - writes them to standard output and prints nothing')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_BAD_INPUT))
    .action((file: string | undefined, flags: DumpFlags) => run(command, file, flags, openLink));
  if (openLink !== undefined) command.option('--link <link>', 'capture from this link instead of a file');
  return command;
}

async function run(
  command: Command,
  file: string | undefined,
  flags: DumpFlags,
  openLink: OpenLink | undefined,
): Promise<void> {
  if ((file === undefined) === (flags.link === undefined)) {
    command.error(`error: give a capture file${openLink === undefined ? '' : ' or --link'}, and only one`);
  }
  try {
    const source = await openSource(file, flags, openLink);
    await dumpFrames(source, { ...flags, ...captureOptions(flags) }, process.stdout);
  } catch (error) {
    if (!isBadInput(error)) throw error;
    // The system's own sentence names the file it is about, which may be the one written.
    const subject = 'path' in error ? '' : `${file ?? flags.link}: `;
    process.stderr.write(`roce dump: ${subject}${error.message}\n`);
    process.exitCode = EXIT_BAD_INPUT;
  }
}

async function openSource(
  file: string | undefined,
  flags: DumpFlags,
  openLink: OpenLink | undefined,
): Promise<CaptureSource> {
  if (flags.link !== undefined && openLink !== undefined) return openLink(flags.link);
  return new FileSource(
    file === undefined || file === '-' ? process.stdin : createReadStream(file, { highWaterMark: READ_BYTES }),
  );
}

function captureOptions({ write }: DumpFlags) {
  if (write === undefined) return {};
  return write === '-' ? { capture: process.stdout, quiet: true } : { capture: createWriteStream(write) };
}

/** A file that is malformed, missing or unreadable; anything else is our own fault and keeps its stack. */
function isBadInput(error: unknown): error is Error {
  return error instanceof RoceError || (error instanceof Error && 'syscall' in error && 'code' in error);
}

function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}

const EXIT_BAD_INPUT = 2;
const READ_BYTES = 1024 * 1024;
