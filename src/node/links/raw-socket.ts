/**
 * A wire beside the kernel's own IP stack, through the package raw-socket: the interface's addresses are ours as well,
 * the kernel routes, resolves neighbours and puts the Ethernet header in front. Linux, CAP_NET_RAW, main thread only.
 *
 *   raw-socket:eth0            raw-socket:veth0,mtu=1500
 *
 * Owns four raw sockets bound to the interface (IPv4 and IPv6, in and out) and the UDP port of each address. What the
 * kernel permits (seen on 6.18; ref:wire#2, man 7 raw): IPv4 both ways with its header as it is on the wire, IP
 * identification and ECN included. IPv6 leaves as written; what arrives has lost its header. With koffi, a socket of
 * our own gets all of it (`raw-socket-ipv6.ts`); elsewhere it is rebuilt (`raw-socket-receiver.ts`) without the traffic
 * class, so that no mark is seen on IPv6.
 *
 * An interface that is down acts as an unplugged cable: packets are refused and counted. (The kernel takes IPv6
 * addresses from an interface that goes down.) An interface that is removed ends the link. Closing ends it at once;
 * what `send` took has gone to the kernel.
 */

import { type IpAddress, IpPrefix } from '../../../packets/address.ts';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type LinkEcn, WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import type { LinkKind } from './kind.ts';
import { type Libc, loadLibc, mayLoadLibc } from './libc.ts';
import { type Abandonment, LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';
import { linuxRequirement, packageRequirement } from './native-package.ts';
import { interfaceAddresses, interfaceExists, interfaceMtu, takeInterface } from './netdev.ts';
import { Ipv6Receiver } from './raw-socket-ipv6.ts';
import type { RawSocket, RawSocketModule } from './raw-socket-module.ts';
import { HeldPort } from './raw-socket-port.ts';
import { RawReceiver } from './raw-socket-receiver.ts';
import { RawSender, type SendCounters } from './raw-socket-sender.ts';
import {
  closeRaw,
  enlargeReceiveBuffer,
  IPPROTO_RAW,
  IPPROTO_UDP,
  interfaceIsThere,
  loadRawSocket,
  openRaw,
  RAW_SOCKET_REMEDY,
  unavailable,
} from './raw-socket-system.ts';

export interface RawSocketLinkOptions {
  /** Name of the interface, `eth0`. */
  readonly device: string;
  /** Largest IP packet in bytes; default the interface's MTU. */
  readonly mtu?: number;
}

export interface RawSocketCounters extends SendCounters {
  received: number;
  /** Packets dropped on arrival: longer than the MTU. */
  receivedOversize: number;
  /** Packets that the kernel dropped because the receive buffer was full. */
  dropped: number;
}

export const rawSocketKind: LinkKind = {
  name: 'raw-socket',
  usage: 'INTERFACE[,mtu=N]',
  summary: "beside the kernel, with an interface's own addresses; Linux, CAP_NET_RAW",
  medium: Medium.Ip,
  get ecn() {
    return mayLoadLibc() ? WHOLE_PACKETS : WITHOUT_KOFFI;
  },
  requirements: async () => [
    linuxRequirement(),
    await packageRequirement('raw-socket', RAW_SOCKET_REMEDY),
    capabilityRequirement('CAP_NET_RAW'),
  ],
  open: (spec) => {
    const mtu = spec.takeMtu();
    return new RawSocketLink({ device: takeInterface(spec), ...defined({ mtu }) });
  },
};

export class RawSocketLink extends LifecycleLink<RawSocketPort> {
  readonly name: string;
  readonly medium = Medium.Ip;
  readonly mtu: number;
  readonly #device: string;
  /** Those of the interface when the link was started. */
  #addresses: readonly string[] | undefined;

  constructor({ device, mtu }: RawSocketLinkOptions) {
    super();
    this.#device = device;
    this.mtu = mtu ?? interfaceMtu(device) ?? DEFAULT_MTU;
    this.name = `raw-socket:${device}`;
  }

  /** The interface's, link-local ones left out. */
  get addresses(): readonly string[] {
    return this.#addresses ?? interfaceAddresses(this.#device);
  }

  get ecn(): LinkEcn {
    return this.port?.ecn ?? rawSocketKind.ecn;
  }

  get counters(): RawSocketCounters {
    return this.port?.counters ?? NOTHING_COUNTED;
  }

  protected override async open(events: LinkEvents, abandoned: Abandonment): Promise<RawSocketPort> {
    const { name, mtu } = this;
    const raw = await loadRawSocket(name);
    const libc = await loadLibc().catch(() => undefined);
    abandoned.throwIfAborted();
    this.#addresses = this.#usableAddresses();
    const port = new RawSocketPort({ name, mtu, device: this.#device, raw, libc, events });
    try {
      await port.open(this.#addresses.map(addressOf));
    } catch (error) {
      await port.close();
      throw error;
    }
    return port;
  }

  #usableAddresses(): readonly string[] {
    if (!interfaceExists(this.#device)) throw unavailable(`${this.name}: there is no interface ${this.#device}`);
    const addresses = interfaceAddresses(this.#device);
    if (addresses.length === 0)
      throw unavailable(`${this.name}: ${this.#device} has no IP address, or is down; this link shares the kernel's`);
    return addresses;
  }
}

interface RawSocketParts {
  /** Of the link, for errors. */
  readonly name: string;
  readonly device: string;
  readonly mtu: number;
  readonly raw: RawSocketModule;
  /** Absent: only the package is used. */
  readonly libc: Libc | undefined;
  readonly events: LinkEvents;
}

/** The sockets, and the watch over their interface. */
class RawSocketPort implements LinkPort {
  readonly #parts: RawSocketParts;
  readonly #counters = { ...NOTHING_COUNTED };
  #sockets: RawSocket[] = [];
  #sender: RawSender | undefined;
  #receiver: RawReceiver | undefined;
  /** For IPv6 where koffi is. */
  #ipv6: Ipv6Receiver | undefined;
  #held: HeldPort | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(parts: RawSocketParts) {
    this.#parts = parts;
  }

  get ecn(): LinkEcn {
    return this.#parts.libc === undefined ? WITHOUT_KOFFI : WHOLE_PACKETS;
  }

  get counters(): RawSocketCounters {
    this.#countDrops();
    return { ...this.#counters };
  }

  /** Opens all there is to open; after an error, `close` frees what was opened. */
  async open(addresses: readonly IpAddress[]): Promise<void> {
    const { name, mtu, device, libc, events } = this.#parts;
    const addresses6 = addresses.filter(({ version }) => version === 6);
    const common = { mtu, deliver: (batch: FrameBatch) => this.#receive(batch) };
    const receiver = new RawReceiver({ ...common, addresses: addresses6 });
    this.#receiver = receiver;
    if (libc !== undefined && addresses6.length > 0)
      this.#ipv6 = new Ipv6Receiver(libc, { ...common, link: name, device, bufferBytes: RECEIVE_BUFFER_BYTES });
    for (const version of [4, 6] as const) {
      if (version === 6 && this.#ipv6 !== undefined) continue;
      const socket = this.#openSocket(addresses, IPPROTO_UDP, version);
      if (socket === undefined) continue;
      enlargeReceiveBuffer(socket, RECEIVE_BUFFER_BYTES);
      receiver.attach(socket, version);
    }
    const outgoing = {
      4: this.#openSocket(addresses, IPPROTO_RAW, 4),
      6: this.#openSocket(addresses, IPPROTO_RAW, 6),
    };
    this.#sender = new RawSender(mtu, this.#counters, outgoing, () => events.writable());
    this.#held = await HeldPort.hold(name, addresses);
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
  }

  send(batch: FrameBatch, from: number): number {
    return this.#sender?.send(batch, from) ?? batch.count - from;
  }

  async close(): Promise<void> {
    this.#countDrops();
    clearInterval(this.#watch);
    this.#receiver?.stop();
    this.#ipv6?.stop();
    for (const socket of this.#sockets) closeRaw(socket);
    this.#sockets = [];
    await this.#held?.release();
  }

  /** Undefined when no address is of this version. */
  #openSocket(addresses: readonly IpAddress[], protocol: number, version: 4 | 6): RawSocket | undefined {
    const { raw, name, device } = this.#parts;
    if (!addresses.some((address) => address.version === version)) return undefined;
    const socket = openRaw(raw, name, { protocol, version, device });
    // The package calls us outside of what Node calls a callback scope.
    socket.on('error', (error) => setImmediate(() => this.#fail(error.message)));
    this.#sockets.push(socket);
    return socket;
  }

  #receive(batch: FrameBatch): void {
    this.#counters.received += batch.count;
    this.#parts.events.receive(batch);
  }

  /** A closed socket cannot be queried: the counts stay as they were. */
  #countDrops(): void {
    if (this.#sockets.length === 0) return;
    this.#counters.dropped = (this.#receiver?.drops ?? 0) + (this.#ipv6?.drops ?? 0);
    this.#counters.receivedOversize = (this.#receiver?.oversize ?? 0) + (this.#ipv6?.oversize ?? 0);
  }

  #look(): void {
    const [socket] = this.#sockets;
    if (socket !== undefined && !interfaceIsThere(socket)) this.#fail(`the interface ${this.#parts.device} is gone`);
  }

  #fail(reason: string): void {
    this.#parts.events.ended(new RoceError('ERR_ROCE_CLOSED', `${this.#parts.name}: ${reason}`));
  }
}

function addressOf(prefix: string): IpAddress {
  return IpPrefix.parse(prefix).address;
}

const NOTHING_COUNTED: RawSocketCounters = {
  sent: 0,
  oversize: 0,
  unsendable: 0,
  refused: 0,
  received: 0,
  receivedOversize: 0,
  dropped: 0,
};
const WITHOUT_KOFFI: LinkEcn = {
  set: [4, 6],
  read: [4],
  reason:
    'the kernel reports the traffic class of IPv6 packets as ancillary data, which the package raw-socket does not read: npm install koffi',
};
/** Where the system gives none. */
const DEFAULT_MTU = 1500;
/** The kernel doubles it and charges more than a packet's bytes: some thousand packets. */
const RECEIVE_BUFFER_BYTES = 0x80_00_00;
const WATCH_MS = 1000;
