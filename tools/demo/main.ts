/**
 * `roce demo`: two devices in this process, every operation, on a clean wire and on a bad one.
 *
 * Owns the command line. Exit codes: 0 every byte is right and tshark, where it is installed, agrees; 1 a byte is
 * wrong, tshark disagrees or the capture cannot be written; 2 the command line is invalid.
 */
import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { analyzeChunks } from '../analyze/index.ts';
import { print as write } from '../output.ts';
import { readShare, shareText } from '../share.ts';
import { grouped } from '../table.ts';
import { OWN_COLORS } from '../visible-text.ts';
import { confirmCapture } from './confirm.ts';
import { badLines, cleanLines, closingLines, isRight, openingLines, seenLines, verdictLines } from './report.ts';
import { runDemo } from './run.ts';
import { DEFAULT_SETTINGS, type DemoSettings, PATH_MTUS } from './settings.ts';

interface DemoFlags extends DemoSettings {
  readonly write: string;
  readonly color: boolean;
}

export function demoCommand(): Command {
  const { seed, mtu, maxSize, loss, duplicate, reorder, corrupt } = DEFAULT_SETTINGS;
  return new Command('demo')
    .description('two RDMA devices in this process: every operation on a clean wire and on a bad one, packet by packet')
    .addOption(shareOption('loss', 'frames lost on the bad wire, each way', loss))
    .addOption(shareOption('duplicate', 'frames delivered twice', duplicate))
    .addOption(shareOption('reorder', 'frames held back so that others overtake them', reorder))
    .addOption(shareOption('corrupt', 'frames with one bit flipped', corrupt))
    .option('--seed <number>', 'seed of all random decisions', parseSeed, seed)
    .option('--mtu <bytes>', `path MTU: ${PATH_MTUS.join(', ')}`, parseMtu, mtu)
    .option('--max-size <bytes>', 'largest message', parseMaxSize, maxSize)
    .option('--write <file>', 'the capture (pcapng)', 'demo.pcapng')
    .option('--no-color', 'no colours; also without a terminal, or with NO_COLOR set')
    .action(async (flags: DemoFlags) => {
      if (!(await demo(flags))) process.exitCode = EXIT_WRONG;
    });
}

/** Resolves with whether all was right. */
async function demo(flags: DemoFlags): Promise<boolean> {
  const color = flags.color && process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined;
  print(openingLines(flags));
  const run = await runDemo(flags);
  print(cleanLines(run, { color }));
  print(badLines(run, { color }));
  print(verdictLines(run, { color }));
  writeFileSync(flags.write, run.capture);
  print([`  capture  ${flags.write}: ${grouped(run.captureFrames)} frames, with comments on those that the wire hurt`]);
  const { lines, agrees } = await confirmCapture(run, flags.write);
  print(lines);
  const { analysis } = await analyzeChunks(wholeOf(run.capture));
  print(seenLines(analysis, { color }));
  print(closingLines(flags.write, import.meta.url.endsWith('.ts')));
  return isRight(run) && agrees;
}

async function* wholeOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function print(lines: readonly string[]): void {
  if (lines.length > 0) write(`${lines.join('\n')}\n`, OWN_COLORS);
}

function shareOption(name: string, what: string, usual: number): Option {
  return new Option(`--${name} <share>`, what).default(usual, shareText(usual)).argParser(parseShare);
}

function parseShare(text: string): number {
  const share = readShare(text);
  if (Number.isNaN(share)) throw new InvalidArgumentError('a share is expected, such as 0.01 or 1%');
  return share;
}

function parseSeed(text: string): number {
  return parseWhole(text, 0, Number.MAX_SAFE_INTEGER);
}

function parseMaxSize(text: string): number {
  return parseWhole(text, 0, LARGEST_MESSAGE);
}

function parseMtu(text: string): number {
  const mtu = parseWhole(text, 0, Number.MAX_SAFE_INTEGER);
  if (!PATH_MTUS.includes(mtu)) throw new InvalidArgumentError(`one of ${PATH_MTUS.join(', ')} is expected.`);
  return mtu;
}

function parseWhole(text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new InvalidArgumentError(`a whole number of ${min} .. ${max} is expected.`);
  }
  return value;
}

const EXIT_WRONG = 1;
const LARGEST_MESSAGE = 64 * 1024 * 1024;
