/**
 * `roce dump`: what is in a capture file, or on a wire.
 *
 * Owns the command line. Exit codes: 0 done, 2 the input cannot be read or the command line makes no sense.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { RoceError } from '../../packets/errors.ts';
import { addLinkOptions, type LinkFlags, withDevice } from '../options.ts';
import { type CaptureSource, dumpFrames } from './dump.ts';
import { FileSource } from './file-source.ts';
import { LiveSource } from './live-source.ts';

interface DumpFlags extends Partial<LinkFlags> {
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly count?: number;
}

export function dumpCommand(): Command {
  const command = new Command('dump')
    .description('print the frames of a capture file (pcap or pcapng) or of a wire, RoCEv2 in full')
    .argument('[file]', 'capture file, - for standard input')
    .option('-v, --verbose', 'all fields of every frame')
    .option('--json', "one JSON object a frame, keys named as tshark's fields")
    .option('-c, --count <count>', 'stop after this many frames', parseCount)
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_BAD_INPUT))
    .action((file: string | undefined, flags: DumpFlags) => run(command, file, flags));
  return addLinkOptions(command, { optional: true });
}

async function run(command: Command, file: string | undefined, flags: DumpFlags): Promise<void> {
  if ((file === undefined) === (flags.link === undefined)) {
    command.error('error: give a capture file or --link, and only one');
  }
  try {
    if (flags.link !== undefined) await dumpLink(command, flags.link, flags);
    else await dumpFrames(openFile(file), { ...flags, ...captureOptions(flags) }, process.stdout);
  } catch (error) {
    if (!isBadInput(error)) throw error;
    // The system's own sentence names the file it is about, which may be the one written.
    const subject = 'path' in error ? '' : `${file ?? flags.link}: `;
    process.stderr.write(`roce dump: ${subject}${error.message}\n`);
    process.exitCode = EXIT_BAD_INPUT;
  }
}

function openFile(file: string | undefined): CaptureSource {
  return new FileSource(
    file === undefined || file === '-' ? process.stdin : createReadStream(file, { highWaterMark: READ_BYTES }),
  );
}

/** Opens a device, which answers whoever asks for its addresses, and prints what passes on its wire. */
async function dumpLink(command: Command, link: string, flags: DumpFlags): Promise<void> {
  const { ip } = flags;
  if (ip === undefined) command.error('error: --link needs --ip, an address of ours on that wire');
  const source = new LiveSource();
  const dump = async (_device: unknown, interrupted: AbortSignal): Promise<void> => {
    interrupted.addEventListener('abort', () => source.close());
    // As tcpdump does: who waits for us to be ready reads this line.
    process.stderr.write(`roce dump: listening on ${link}\n`);
    await dumpFrames(source, { ...flags, ...captureOptions(flags) }, process.stdout);
  };
  await withDevice({ ...flags, link, ip }, dump, (wire) => source.attach(wire));
  if (source.dropped > 0)
    process.stderr.write(`roce dump: ${source.dropped} frames dropped, the reader was too slow\n`);
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
