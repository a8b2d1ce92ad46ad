/**
 * What the commands of `roce` share: the options that open a device, the parsing of values, and the life of a device
 * between its opening and ctrl-C.
 *
 * Conventions: a command line that makes no sense is one line on standard error and exit code 2; what the world refuses
 * (`RoceError`) is one line and exit code 1; ctrl-C ends in good order with exit code 130, a second one at once.
 * roce.ts sees to the first two for every command.
 */
import { Command, Help, InvalidArgumentError, Option } from 'commander';
import {
  type Device,
  type LinkFacts,
  type OpenDeviceOptions,
  type OpenRdmaDevice,
  openDevice,
  type PathTraits,
  type PollMode,
  type RdmaDevice,
  type VlanOptions,
} from 'rocev2';
import { type CaptureSink, linkUsage, openLink, POLL_MODES } from 'rocev2/node';
import { defined, Ecn, IpAddress, IpPrefix, MAX_FLOW_LABEL, parseMac, RoceError, trafficClassOf } from 'rocev2/packets';
import { PEER_PROFILES } from 'rocev2/transport';
import { addCongestionOptions, type CongestionFlags, congestionOptions } from './congestion-options.ts';
import { printDeviceEvents } from './device-events.ts';
import { terminal } from './output.ts';
import { Recording } from './recording.ts';

export interface LinkFlags extends CongestionFlags {
  readonly link: string;
  /** Absent: the link's own. */
  readonly ip?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  readonly gateway?: string;
  readonly neighbour?: readonly { readonly address: string; readonly mac: string }[];
  readonly vlan?: VlanOptions;
  readonly peer?: string;
  readonly dscp?: number;
  readonly ecn?: number;
  readonly trafficClass?: number;
  readonly hopLimit?: number;
  readonly flowLabel?: number;
  readonly sourcePort?: number;
  readonly write?: string;
  readonly trace?: string;
  readonly worker?: boolean;
  readonly poll?: PollMode;
}

/**
 * Adds the options of a command that opens a device; its action gets `LinkFlags`, or part of them where they are
 * `optional`. Its help leaves out most of them: `linkOptionsHelp` has all.
 */
export function addLinkOptions(command: Command, { optional = false } = {}): Command {
  addDeviceOptions(command, optional);
  foldInHelp(command);
  return command.hook('preAction', () => {
    const { link, ip, trace, worker } = command.opts<Partial<LinkFlags>>();
    if (trace !== undefined && worker === true)
      command.error('error: --trace watches a device in this thread: not together with --worker');
    if (link !== undefined && ip === undefined && openLink(link).addresses === undefined)
      command.error(`error: ${link} has no addresses of its own: --ip is required`);
  });
}

/** All of the options that `addLinkOptions` gives a command, as help shows them. */
export function linkOptionsHelp(): string {
  const [, ...sections] = addDeviceOptions(new Command().helpOption(false), true).helpInformation().split('\n\n');
  return sections
    .join('\n\n')
    .replace(/^Options:/, 'Options of every command that opens a device:')
    .trimEnd();
}

/**
 * A command's help has its own options, and of those of the link the ones that it is hardly used without. A mistyped
 * one is still known.
 */
function foldInHelp(command: Command): void {
  const own = new Set(addDeviceOptions(new Command(), true).options.map(({ long }) => long));
  const folded = (option: Option): boolean => own.has(option.long) && !ALWAYS_SHOWN.has(option.long ?? '');
  command
    .configureHelp({
      formatHelp(shown, helper) {
        const all = helper.visibleOptions(shown).filter((option) => !folded(option));
        helper.visibleOptions = () => all;
        return Help.prototype.formatHelp.call(helper, shown, helper);
      },
    })
    .addHelpText(
      'after',
      '\nMore options of the link (addresses, VLAN, headers, congestion control, traces): roce help links',
    );
}

function addDeviceOptions(command: Command, optional: boolean): Command {
  command
    .addOption(
      new Option('--link <link>', `the wire: ${linkUsage()}; "roce links" describes each`)
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
    .addOption(
      new Option('--peer <kind>', 'the kind of peer (default: default, which works with all)').choices(
        PEER_PROFILES.map(({ name }) => name),
      ),
    )
    .option('--write <file>', 'write all frames to a pcapng file')
    .option('--trace <file>', 'write what the device does and why, as events (docs/trace.md)')
    .addOption(
      new Option(
        '--poll <mode>',
        'how to wait for frames, on links that can be polled (default: adaptive, with one processor event)',
      ).choices(POLL_MODES),
    )
    .option('--worker', 'run the stack in a thread of its own, so that a busy command does not delay it');
  addEthernetOptions(command);
  addPathOptions(command);
  addCongestionOptions(command);
  return command;
}

function addEthernetOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--neighbour <address=mac>',
        'MAC address of a neighbour, which is then never resolved; may be repeated; Ethernet links only',
      ).argParser(collect(neighbour)),
    )
    .option(
      '--vlan <id[:priority]>',
      'the VLAN to be on: tags all frames, ignores all others; Ethernet links only',
      vlan,
    );
}

function addPathOptions(command: Command): void {
  command
    .addOption(new Option('--dscp <number>', 'DSCP of our packets, such as 26').argParser(integer(0, 63)))
    .addOption(new Option('--ecn <number>', 'ECN of our packets: 0 none, 1 ECT(1), 2 ECT(0)').argParser(integer(0, 2)))
    .addOption(
      new Option('--traffic-class <number>', 'both in one byte: DSCP * 4 + ECN')
        .argParser(integer(0, 255))
        .conflicts(['dscp', 'ecn']),
    )
    .option('--hop-limit <number>', 'hop limit or TTL of our packets (default: 64)', integer(1, 255))
    .option(
      '--flow-label <number>',
      'flow label of our connections, which also gives their source port (default: a random one for the port, 0 in headers)',
      integer(0, MAX_FLOW_LABEL),
    )
    .option(
      '--source-port <number>',
      'UDP source port of our connections (default: one for each, 49152 .. 65535)',
      integer(1, 0xff_ff),
    );
}

/**
 * Opens a device, lends it to `use`, and closes it. Ctrl-C aborts the signal that `use` is given; who does not end
 * within a few seconds loses the device. Resolves to undefined when it ended by ctrl-C, whatever `use` did then.
 * `watch` sees every frame and takes the place of `--write`.
 */
export function withDevice<T>(
  flags: LinkFlags,
  use: (device: RdmaDevice, interrupted: AbortSignal) => Promise<T>,
  watch?: (link: LinkFacts) => CaptureSink,
): Promise<T | undefined> {
  return recorded(flags, watch, async (recording) => {
    const options = { ...deviceOptions(flags), ...recording };
    const opening = flags.worker === true ? openDevice({ ...options, thread: 'worker' }) : openDevice(options);
    return lend(await opening, use);
  });
}

/**
 * The same with a device in this thread, for a command that sees to ctrl-C by itself, on a wire that may have faults.
 */
export function withDeviceHere<T>(
  flags: LinkFlags,
  use: (device: Device) => Promise<T>,
  faulty: Pick<OpenDeviceOptions, 'faults'>,
): Promise<T> {
  return recorded(flags, undefined, async (recording) => {
    const opened = await openDevice({ ...deviceOptions(flags), ...recording, ...faulty });
    void printDeviceEvents(opened.device.events, terminal);
    try {
      return await use(opened.device);
    } finally {
      await opened.close();
    }
  });
}

async function recorded<T>(
  flags: LinkFlags,
  watch: ((link: LinkFacts) => CaptureSink) | undefined,
  run: (options: Recording['options']) => Promise<T>,
): Promise<T> {
  const recording = new Recording(flags, watch);
  try {
    const result = await run(recording.options);
    recording.close();
    if (recording.failure !== undefined) throw recording.failure;
    return result;
  } finally {
    recording.close();
  }
}

async function lend<T>(
  opened: OpenRdmaDevice,
  use: (device: RdmaDevice, interrupted: AbortSignal) => Promise<T>,
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
  void printDeviceEvents(opened.device.events, terminal);
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

/** A parser for a whole number within bounds, in decimal or as `0x...`. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^(?:\d{1,15}|0x[0-9a-f]{1,12})$/i.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`a whole number from ${min} to ${max} is expected`);
    return value;
  };
}

export const parseAddress = parser(IpAddress.parse);

function deviceOptions(flags: LinkFlags): Omit<OpenDeviceOptions, 'captureSink' | 'faults' | 'thread'> {
  const { link, ip, mac, mtu, gateway, neighbour, vlan, peer, poll } = flags;
  const congestion = congestionOptions(flags);
  return {
    link,
    ...defined({ addresses: ip, mac, mtu, gateway, neighbours: neighbour, vlan, peer, poll, congestion }),
    path: pathOf(flags),
  };
}

/** What was chosen of a path; nothing for what was not. */
function pathOf(flags: Partial<LinkFlags>): PathTraits {
  const { dscp, hopLimit, flowLabel, sourcePort } = flags;
  // With congestion control, packets say that they are ECN-capable, whatever their DSCP.
  const ecn = flags.ecn ?? (flags.cc !== undefined && dscp !== undefined ? Ecn.Ect0 : undefined);
  const both = dscp === undefined && ecn === undefined ? undefined : trafficClassOf(dscp ?? 0, ecn);
  const trafficClass = flags.trafficClass ?? both;
  return {
    ...defined({ trafficClass, hopLimit, flowLabel, sourcePort }),
  };
}

/** Checked text: an address with a prefix length. */
export const prefix = (text: string): string => IpPrefix.parse(text) && text;
/** Checked text: an IP address. */
export const address = (text: string): string => IpAddress.parse(text) && text;
/** Checked text: a MAC address. */
export const macAddress = (text: string): string => parseMac(text) && text;
/** Makes the link without starting it, which does nothing to the world. */
const link = (text: string): string => openLink(text) && text;

/** ADDRESS=MAC. */
function neighbour(text: string): { address: string; mac: string } {
  const [address = '', mac = '', ...rest] = text.split('=');
  if (mac === '' || rest.length > 0)
    throw new RoceError('ERR_ROCE_ADDRESS', 'an address, an equals sign and a MAC address are expected');
  IpAddress.parse(address);
  parseMac(mac);
  return { address, mac };
}

/** ID or ID:PRIORITY. */
function vlan(text: string): VlanOptions {
  const [id = '', priority, ...rest] = text.split(':');
  if (rest.length > 0) throw new InvalidArgumentError('an id, or an id, a colon and a priority are expected');
  const parsed = integer(1, 4094)(id);
  return priority === undefined ? { id: parsed } : { id: parsed, priority: integer(0, 7)(priority) };
}

/** A parser for an option that may be repeated. */
export function collect<T>(parse: (text: string) => T): (text: string, previous: readonly T[] | undefined) => T[] {
  const checked = parser(parse);
  return (text, previous = []) => [...previous, checked(text)];
}

const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['--link', '--ip', '--write']);
const EXIT_INTERRUPTED = 130;
/** Long enough for a disconnect to be answered. */
const GRACE_MS = 3000;
