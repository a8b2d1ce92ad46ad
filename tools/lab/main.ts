/**
 * The command `roce lab`: build, list and remove guests' images, run a command in a guest. Owns texts and exit codes: 2
 * for an invalid usage, 1 for what the machine cannot do; `run` exits with the exit code of its command.
 */
import { stat } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { RoceError } from 'rocev2/packets';
import { complain, print, terminal } from '../output.ts';
import { Guest } from './guest.ts';
import { buildImage, cleanImages, listImages } from './image.ts';
import { defaultCacheDirectory } from './parts.ts';
import { labAvailable } from './probe.ts';
import { KERNELS, type KernelLabel } from './recipe.ts';

/** The command with its subcommands, to be added to a program. */
export function labCommand(): Command {
  const lab = new Command('lab').description('Linux guests with rdma_rxe, under qemu, from Debian packages');
  lab
    .command('build')
    .description('build the image of a kernel generation, or all of them')
    .addOption(new Option('--kernel <generation>', 'which kernel').choices([...KERNELS, 'all']).default('all'))
    .option('--refresh', 'ask the mirror for newer packages even though an image is there')
    .action((options: { kernel: KernelLabel | 'all'; refresh?: boolean }) => guarded(() => build(options)));
  lab
    .command('list')
    .description('list the images in the cache')
    .action(() => guarded(list));
  lab
    .command('run')
    .description('boot a guest, run a shell command in it, exit with its exit code')
    .addOption(new Option('--kernel <generation>', 'which kernel').choices([...KERNELS]).default('6.12'))
    .option('--ip <address/prefix>', "an address of the guest's eth0; may be repeated", collect, [])
    .option('--net <socket>', 'the unix socket to connect the guest to')
    .option('--listen', 'listen on that socket instead, for another guest')
    .option('--tap <interface>', 'the TAP interface to connect the guest to')
    .option('--mac <address>', "the guest's MAC address")
    .option('--mtu <bytes>', 'MTU of eth0; 4200 gives IB MTU 4096', integer)
    .option('--capture <file>', "write the guest's frames to a pcap file")
    .option('--timeout <seconds>', 'limit of the command', integer, 600)
    .argument('<command...>', 'the command, after "--"')
    .action((command: string[], options: RunOptions) => guarded(() => run(command, options)));
  lab
    .command('clean')
    .description('remove all images')
    .action(() => guarded(() => cleanImages()));
  for (const command of [lab, ...lab.commands]) command.exitOverride(exitForUsage);
  return lab;
}

interface RunOptions {
  readonly kernel: KernelLabel;
  readonly ip: readonly string[];
  readonly net?: string;
  readonly listen?: boolean;
  readonly tap?: string;
  readonly mac?: string;
  readonly mtu?: number;
  readonly capture?: string;
  readonly timeout: number;
}

async function build(options: { kernel: KernelLabel | 'all'; refresh?: boolean }): Promise<void> {
  requireLab();
  for (const kernel of options.kernel === 'all' ? KERNELS : [options.kernel]) {
    const image = await buildImage(kernel, { refresh: options.refresh, log: (line) => say(line) });
    terminal.line(`${kernel}\t${image.release}\t${image.kernelPath}\t${image.initrdPath}`);
  }
}

async function list(): Promise<void> {
  const images = await listImages();
  if (images.length === 0) say(`no images in ${defaultCacheDirectory()}; "roce lab build" builds them`);
  for (const image of images) {
    const bytes = (await stat(image.kernelPath)).size + (await stat(image.initrdPath)).size;
    terminal.line(`${image.kernel}\t${image.release}\t${Math.ceil(bytes / 2 ** 20)} MiB\t${image.initrdPath}`);
  }
}

async function run(command: readonly string[], options: RunOptions): Promise<void> {
  if (options.listen === true && options.net === undefined) {
    throw new RoceError('ERR_ROCE_ARGUMENT', '--listen needs --net: the socket to listen on');
  }
  requireLab();
  const image = await buildImage(options.kernel, { log: (line) => say(line) });
  const guest = await Guest.boot({
    image,
    addresses: options.ip,
    netSocket: options.net === undefined ? undefined : { path: options.net, listen: options.listen ?? false },
    tap: options.tap,
    mac: options.mac,
    mtu: options.mtu,
    capturePath: options.capture,
  });
  try {
    const result = await guest.run(command.join(' '), { timeoutMs: options.timeout * 1000 });
    print(result.stdout);
    complain(result.stderr);
    process.exitCode = result.code;
  } finally {
    await guest.stop();
  }
}

/** Turns an error into one line and an exit code. An error that is a bug of ours keeps its stack. */
async function guarded(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    say(error.message);
    process.exitCode = error.code === 'ERR_ROCE_ARGUMENT' ? 2 : 1;
  }
}

function requireLab(): void {
  const lab = labAvailable();
  if (!lab.ok) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', lab.reason);
}

function say(line: string): void {
  terminal.complaint(`roce lab: ${line}`);
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

function integer(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('It is not a whole number.');
  return Number(value);
}

/** commander has printed its one line by now; its own exit code for a wrong usage is 1. */
function exitForUsage(error: { readonly exitCode: number }): never {
  process.exit(error.exitCode === 0 ? 0 : 2);
}
