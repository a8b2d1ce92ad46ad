/**
 * What the commands of `roce` share: the options that open a device, the parsing of values, and the life of a device between
 * its opening and ctrl-C.
 *
 * Conventions: a command line that makes no sense is one line on standard error and exit code 2; what the world refuses
 * (`RoceError`) is one line and exit code 1; ctrl-C ends in good order with exit code 130, a second one at once. roce.ts
 * sees to the first two for every command.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Device, IpAddress, IpPrefix, Medium, parseMac, RoceError } from '../src/index.ts';
import { type CaptureSink, type Link, linkUsage, openLink } from '../src/links/index.ts';
import { type OpenDevice, type OpenDeviceOptions, openDevice } from '../src/open.ts';
import { CaptureFile } from './capture-file.ts';

export interface LinkFlags {
  readonly link: string;
  /** Absent: the link's own. */
  readonly ip?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  readonly gateway?: string;
  readonly write?: string;
}

/** Adds the options of a command that opens a device; its action gets `LinkFlags`, or part of them where they are `optional`. */
export function addLinkOptions(command: Command, { optional = false } = {}): Command {
  command
    .addOption(
      new Option('--link <link>', `the wire; ${linkUsage().join('; ')}`)
        .argParser(parser(link))
        .makeOptionMandatory(!optional),
    )
    .addOption(
      new Option(
        '--ip <address/prefix>',
        "an address of ours, IPv4 or IPv6; may be repeated; links that share the kernel's addresses need none",
      ).argParser(collect(prefix)),
    )
    .option('--mac <address>', 'our MAC address (default: a random one)', parser(macAddress))
    .option(
      '--mtu <bytes>',
      'largest IP packet on the wire; 1500 gives path MTU 1024, 4200 gives 4096',
      integer(576, 9216),
    )
    .option('--gateway <address>', 'router for addresses that are not on our subnets', parser(address))
    .option('--write <file>', 'write all frames to a pcapng file');
  return command.hook('preAction', () => {
    const { link, ip } = command.opts<Partial<LinkFlags>>();
    if (link !== undefined && ip === undefined && openLink(link).addresses === undefined)
      command.error(`error: ${link} has no addresses of its own: --ip is required`);
  });
}

/**
 * Opens a device, lends it to `use`, and closes it. Ctrl-C aborts the signal that `use` is given; who does not end within a
 * few seconds loses the device. Resolves to undefined when it ended by ctrl-C, whatever `use` did then. `watch` sees every
 * frame and takes the place of `--write`.
 */
export async function withDevice<T>(
  flags: LinkFlags,
  use: (device: Device, interrupted: AbortSignal) => Promise<T>,
  watch?: (link: Link) => CaptureSink,
): Promise<T | undefined> {
  let file: CaptureFile | undefined;
  const capture = (path: string) => (wire: Link) => {
    file = new CaptureFile(path, { interfaceName: wire.name, ethernet: wire.medium === Medium.Ethernet });
    return file;
  };
  try {
    const { write } = flags;
    const opened = await openDevice({
      ...deviceOptions(flags),
      ...sinkOption(watch ?? (write === undefined ? undefined : capture(write))),
    });
    return await lend(opened, use);
  } finally {
    file?.close();
  }
}

function sinkOption(captureSink: ((link: Link) => CaptureSink) | undefined) {
  return captureSink === undefined ? {} : { captureSink };
}

async function lend<T>(
  opened: OpenDevice,
  use: (device: Device, interrupted: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const interruption = new AbortController();
  const { signal } = interruption;
  let grace: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    if (signal.aborted) process.exit(EXIT_INTERRUPTED);
    process.exitCode = EXIT_INTERRUPTED;
    grace = setTimeout(() => void opened.close(), GRACE_MS);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    const result = await use(opened.device, signal);
    return signal.aborted ? undefined : result;
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    if (signal.aborted) return undefined;
    // The device was closed because the wire is gone: that is what there is to say.
    const reason = error.code === 'ERR_ROCE_CLOSED' ? await Promise.race([opened.closed, undefined]) : undefined;
    throw reason ?? error;
  } finally {
    clearTimeout(grace);
    await opened.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Makes the exit code of a command that was not interrupted. */
export function exitWith(code: number | undefined): void {
  if (code !== undefined && process.exitCode === undefined) process.exitCode = code;
}

/** A parser for commander from a function that throws `RoceError` for bad text. */
export function parser<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof RoceError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };
}

/** A parser for a whole number in decimal within bounds. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`a whole number from ${min} to ${max} is expected`);
    return value;
  };
}

export const parseAddress = parser(IpAddress.parse);

function deviceOptions({ link, ip, mac, mtu, gateway }: LinkFlags): OpenDeviceOptions {
  return {
    link,
    ...(ip === undefined ? {} : { addresses: ip }),
    ...(mac === undefined ? {} : { mac }),
    ...(mtu === undefined ? {} : { mtu }),
    ...(gateway === undefined ? {} : { gateway }),
  };
}

const prefix = (text: string): string => IpPrefix.parse(text) && text;
const address = (text: string): string => IpAddress.parse(text) && text;
const macAddress = (text: string): string => parseMac(text) && text;
/** Makes the link without starting it, which does nothing to the world. */
const link = (text: string): string => openLink(text) && text;

function collect(parse: (text: string) => string): (text: string, previous: readonly string[] | undefined) => string[] {
  const checked = parser(parse);
  return (text, previous = []) => [...previous, checked(text)];
}

const EXIT_INTERRUPTED = 130;
/** Long enough for a disconnect to be answered. */
const GRACE_MS = 3000;
