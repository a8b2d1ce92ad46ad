/**
 * Opens a device on a real wire in the calling thread: link, capture, driver and device put together. The simulated
 * world has its own way (`World`).
 */

import { randomBytes, randomFillSync } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { IpAddress, IpPrefix, type MacAddress, parseMac } from '../../packets/address.ts';
import { defined } from '../../packets/defined.ts';
import { RoceError } from '../../packets/errors.ts';
import { Medium } from '../../packets/frame.ts';
import type { CongestionOptions } from '../../transport/congestion/congestion-options.ts';
import type { Defences } from '../../transport/defences.ts';
import type { QpTrace, Random } from '../../transport/index.ts';
import type { OpenRdmaDevice } from '../device/api.ts';
import { Device } from '../device/device.ts';
import type { DeviceLimits, PathTraits, StaticNeighbour, StrangerLimits, VlanOptions } from '../device/options.ts';
import { monotonicNs } from './clock.ts';
import { Driver } from './driver.ts';
import { type FaultOptions, withFaults } from './links/fault-link.ts';
import { CaptureLink, type CaptureSink, type Link, openLink, readsEcn, setsEcn } from './links/index.ts';
import { OwnFramesLink } from './links/own-frames.ts';
import { defaultPollMode, POLL_MODES, type PollMode } from './poll-loop.ts';

/** A device on a real wire. */
export interface OpenDeviceOptions {
  /** Which wire, as on the command line: `qemu:/tmp/guest.sock`, `qemu:/tmp/guest.sock,connect`. */
  readonly link: string;
  /**
   * Our addresses with their prefix lengths, `10.0.0.1/24`, `fd00::1/64`; default those of the kernel on a link that
   * shares them.
   */
  readonly addresses?: readonly string[];
  /** Default: a random locally administered one. */
  readonly mac?: string;
  /** Largest IP packet of the wire, in bytes; default the link's. */
  readonly mtu?: number;
  /** Router for destinations that are on none of our subnets. */
  readonly gateway?: string;
  /** Neighbours whose MAC address is given rather than resolved; on Ethernet links only. */
  readonly neighbours?: readonly {
    /** Address of the neighbour, `10.0.0.9`. */
    readonly address: string;
    /** Its MAC address, `52:54:00:00:00:09`. */
    readonly mac: string;
  }[];
  /** The VLAN to be on; on Ethernet links only. Absent: untagged frames. */
  readonly vlan?: VlanOptions;
  /**
   * Traffic class, hop limit, flow label and source port of queue pairs that do not set them. A link with one source
   * port keeps it.
   */
  readonly path?: PathTraits;
  /** Default 'rocev2_0'. */
  readonly name?: string;
  /** The implementation of the peer: the name of one of `PEER_PROFILES`. Default 'default', which works with all. */
  readonly peer?: string;
  /**
   * Congestion control: how queue pairs react to notifications, and what is sent when packets arrive marked. Needs a
   * link that carries the traffic class (`Link.ecn`): reactions that need more are refused. Default: none.
   */
  readonly congestion?: CongestionOptions;
  /** What queue pairs do about packets that no honest peer sends; default `DEFAULT_DEFENCES`. */
  readonly defences?: Partial<Defences>;
  /** Limits of the device; default `DEFAULT_LIMITS`. */
  readonly limits?: Partial<DeviceLimits>;
  /** What senders may cost that have proved nothing; default `DEFAULT_STRANGER_LIMITS`. */
  readonly strangers?: Partial<StrangerLimits>;
  /**
   * How the device waits for frames. Links that cannot be polled wake it whatever this says: those on Node's own
   * sockets, `pcap` and `raw-socket`. Default 'adaptive', and 'event' for a process that has
   * one processor.
   */
  readonly poll?: PollMode;
  /** Where the stack runs: in the application's thread (default), or in a worker (`OpenWorkerDeviceOptions`). */
  readonly thread?: 'application';
  /**
   * Sees every frame that passes, with monotonic time; or makes one for the link, whose medium and name it may need.
   */
  readonly captureSink?: CaptureSink | ((link: Link) => CaptureSink);
  /** Receives the decisions of queue pairs, for example a `TraceRecorder`. Default: none. */
  readonly trace?: QpTrace;
  /**
   * Faults on the wire, by rule or by chance; we are end a. They are applied outside of the capture, which sees the
   * frames of the device. What a device on Ethernet sends to itself is captured, and never on the wire.
   */
  readonly faults?: FaultOptions;
}

/** An open device in this thread. */
export interface OpenDevice extends OpenRdmaDevice {
  /** The device, in use until `close`. */
  readonly device: Device;
  /** Its wire. */
  readonly link: Link;
}

/** As `openDevice`, in this thread. */
export async function openHere(options: OpenDeviceOptions): Promise<OpenDevice> {
  const { mtu, poll } = options;
  if (poll !== undefined && !POLL_MODES.includes(poll))
    throw new RoceError('ERR_ROCE_ARGUMENT', `poll must be event, adaptive or busy, not ${poll}`);
  const mac = options.mac === undefined ? randomMac() : checkedMac(options.mac);
  const wire = openLink(options.link, mtu === undefined ? {} : { mtu });
  const faulty = options.faults === undefined ? wire : withFaults(wire, options.faults);
  const outside = faulty.medium === Medium.Ethernet ? new OwnFramesLink(faulty, mac) : faulty;
  const link = captured(outside, options.captureSink);
  const addresses = addressesFor(link, options.addresses);
  const driver = new Driver(link, monotonicNs, poll ?? defaultPollMode(availableParallelism()));
  const device = new Device({
    host: driver.host,
    random: new SystemRandom(),
    medium: link.medium,
    mac,
    addresses,
    mtu: link.mtu,
    ...defined({ sourcePort: link.sourcePort, maxUnacked: link.maxUnacked, icrcOffload: link.icrcOffload }),
    ...(options.gateway === undefined ? {} : { gateway: IpAddress.parse(options.gateway) }),
    ...(options.neighbours === undefined ? {} : { neighbours: options.neighbours.map(parseNeighbour) }),
    ...defined({
      vlan: options.vlan,
      path: options.path,
      name: options.name,
      peer: options.peer,
      limits: options.limits,
      strangers: options.strangers,
      congestion: options.congestion,
      defences: options.defences,
    }),
    trace: options.trace,
  });
  await driver.start(device);
  try {
    // What a link carries is known when it has started.
    checkCongestion(link, options.congestion, addresses);
  } catch (error) {
    device.close();
    await driver.close();
    throw error;
  }
  // Without this, promises on a failed link would never settle.
  void driver.closed.then((error) => (error === undefined ? device.close() : device.lostWire()));
  return {
    device,
    link,
    closed: driver.closed,
    close: async () => {
      device.close();
      await driver.close();
    },
  };
}

/** Refuses congestion control on a link that can never show congestion. */
function checkCongestion(link: Link, congestion: CongestionOptions | undefined, addresses: readonly IpPrefix[]): void {
  if (congestion === undefined) return;
  const versions = addresses.map(({ address }) => address.version);
  const { reaction = { kind: 'none' }, notification } = congestion;
  const reason = link.ecn?.reason === undefined ? '' : `: ${link.ecn.reason}`;
  if (reaction.kind === 'dcqcn' && !versions.some((version) => setsEcn(link, version)))
    throw new RoceError('ERR_ROCE_UNSUPPORTED', `packets of ${link.name} are never marked, and draw no CNP${reason}`);
  if (typeof notification === 'object' && !versions.some((version) => readsEcn(link, version)))
    throw new RoceError('ERR_ROCE_UNSUPPORTED', `${link.name} does not show which packets came marked${reason}`);
}

/** Checks the given addresses: a link that shares the kernel's addresses carries no others. */
function addressesFor(link: Link, given: readonly string[] | undefined): IpPrefix[] {
  const addresses = (given ?? link.addresses ?? []).map((text) => IpPrefix.parse(text));
  if (link.addresses === undefined) {
    if (addresses.length > 0) return addresses;
    throw new RoceError('ERR_ROCE_ARGUMENT', `${link.name} has no addresses of its own: give the device at least one`);
  }
  const shared = link.addresses.map((text) => IpPrefix.parse(text).address);
  if (shared.length === 0) {
    const where = "shares the kernel's addresses, and its interface is not there, is down, or has none";
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${link.name} ${where}`);
  }
  const foreign = addresses.find(({ address }) => !shared.some((one) => one.equals(address)));
  if (foreign === undefined) return addresses;
  throw new RoceError(
    'ERR_ROCE_ADDRESS',
    `${foreign.address} is none of the addresses of ${link.name}: ${shared.join(', ')}`,
  );
}

function parseNeighbour({ address, mac }: { readonly address: string; readonly mac: string }): StaticNeighbour {
  return { address: IpAddress.parse(address), mac: parseMac(mac) };
}

function captured(link: Link, sink: OpenDeviceOptions['captureSink']): Link {
  if (sink === undefined) return link;
  return new CaptureLink(link, typeof sink === 'function' ? sink(link) : sink, monotonicNs);
}

/** Unpredictable numbers: keys, queue pair numbers and sequence numbers must not be guessed (ref:hostile#3). */
class SystemRandom implements Random {
  readonly #pool = new Uint32Array(POOL_WORDS);
  #next = POOL_WORDS;

  u32(): number {
    if (this.#next === POOL_WORDS) {
      randomFillSync(this.#pool);
      this.#next = 0;
    }
    return this.#pool[this.#next++] ?? 0;
  }
}

/** Unicast and locally administered. */
function randomMac(): MacAddress {
  const mac = Uint8Array.from(randomBytes(6));
  mac[0] = ((mac[0] ?? 0) & ~GROUP_BIT) | LOCAL_BIT;
  return mac;
}

function checkedMac(text: string): MacAddress {
  const mac = parseMac(text);
  if (((mac[0] ?? 0) & GROUP_BIT) !== 0)
    throw new RoceError('ERR_ROCE_ADDRESS', `${text} is a group address and cannot be a device's`);
  return mac;
}

const GROUP_BIT = 0x01;
const LOCAL_BIT = 0x02;
const POOL_WORDS = 256;
