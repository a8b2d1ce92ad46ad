/**
 * A wire beside the kernel's own IP stack, through the package raw-socket: the interface's addresses are ours as well, the kernel
 * routes, resolves neighbours and puts the Ethernet header in front. Linux, CAP_NET_RAW, main thread only.
 *
 *   raw-socket:eth0            raw-socket:veth0,mtu=1500
 *
 * Owns four raw sockets bound to the interface (IPv4 and IPv6, in and out) and the UDP port of each address. What the kernel permits
 * (seen on 6.18; ref:wire#2, man 7 raw): IPv4 both ways with its header as it is on the wire, IP identification and ECN included. IPv6
 * leaves as written; what arrives has lost its header. Where koffi is, a socket of our own is told all of it (`raw-socket-ipv6.ts`);
 * elsewhere it is rebuilt (`raw-socket-receiver.ts`) without the traffic class, so that no mark is seen on IPv6.
 *
 * Down and up again is a cable pulled: packets are refused and counted meanwhile. (The kernel takes IPv6 addresses from an interface that
 * goes down.) An interface that is removed ends the link. Closing ends it at once; what `send` took has gone to the kernel.
 */
import { IpPrefix } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type Link, type LinkEcn, type LinkSink, WHOLE_PACKETS } from '../../ground/link.ts';
import { capabilityRequirement } from './capability.ts';
import type { LinkKind } from './kind.ts';
import { type Libc, loadLibc, mayLoadLibc } from './libc.ts';
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
  /** Packets that the kernel had no room for: we were too slow. */
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
    return new RawSocketLink({ device: takeInterface(spec), ...(mtu === undefined ? {} : { mtu }) });
  },
};

export class RawSocketLink implements Link {
  readonly name: string;
  readonly medium = Medium.Ip;
  readonly mtu: number;

  readonly #device: string;
  readonly #counters = { sent: 0, oversize: 0, unsendable: 0, refused: 0, received: 0 };
  /** Those of the interface when the link was started. */
  #addresses: readonly string[] | undefined;
  #sink: LinkSink | undefined;
  #starting: Promise<void> | undefined;
  #sockets: RawSocket[] = [];
  #sender: RawSender | undefined;
  #receiver: RawReceiver | undefined;
  /** For IPv6 where koffi is; what is there is known once the link has been started. */
  #ipv6: Ipv6Receiver | undefined;
  #libc: Libc | undefined;
  #port: HeldPort | undefined;
  #watch: NodeJS.Timeout | undefined;
  #dropped = 0;
  #ended = false;

  constructor({ device, mtu }: RawSocketLinkOptions) {
    this.#device = device;
    this.mtu = mtu ?? interfaceMtu(device) ?? DEFAULT_MTU;
    this.name = `raw-socket:${device}`;
  }

  /** The interface's, link-local ones left out. */
  get addresses(): readonly string[] {
    return this.#addresses ?? interfaceAddresses(this.#device);
  }

  get ecn(): LinkEcn {
    return this.#sender === undefined ? rawSocketKind.ecn : this.#libc === undefined ? WITHOUT_KOFFI : WHOLE_PACKETS;
  }

  get counters(): RawSocketCounters {
    if (!this.#ended) this.#countDrops();
    const receivedOversize = (this.#receiver?.oversize ?? 0) + (this.#ipv6?.oversize ?? 0);
    return { ...this.#counters, receivedOversize, dropped: this.#dropped };
  }

  /** Resolves when packets can be sent. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE, ERR_ROCE_STATE */
  async start(sink: LinkSink): Promise<void> {
    if (this.#sink !== undefined || this.#ended) throw new RoceError('ERR_ROCE_STATE', `${this.name} is started once`);
    this.#sink = sink;
    this.#starting = this.#begin();
    await this.#starting;
  }

  async #begin(): Promise<void> {
    const closed = `${this.name} was closed before it had started`;
    try {
      const raw = await loadRawSocket(this.name);
      this.#libc = await loadLibc().catch(() => undefined);
      if (this.#ended) throw new RoceError('ERR_ROCE_CLOSED', closed);
      this.#addresses = this.#usableAddresses();
      this.#open(raw, this.#addresses);
      this.#port = await HeldPort.hold(this.name, this.#addresses.map(addressOf));
      if (this.#ended) throw new RoceError('ERR_ROCE_CLOSED', closed);
    } catch (error) {
      this.#ended = true;
      this.#release();
      await this.#port?.release();
      throw error;
    }
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
  }

  /** After the end everything is taken and lost. */
  send(batch: FrameBatch, from: number): number {
    if (this.#ended || this.#sender === undefined) return batch.count - from;
    return this.#sender.send(batch, from);
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    this.#countDrops();
    this.#ended = true;
    this.#release();
    await this.#starting?.catch(() => undefined);
    await this.#port?.release();
    this.#sink?.closed();
  }

  #usableAddresses(): readonly string[] {
    if (!interfaceExists(this.#device)) throw unavailable(`${this.name}: there is no interface ${this.#device}`);
    const addresses = interfaceAddresses(this.#device);
    if (addresses.length === 0)
      throw unavailable(`${this.name}: ${this.#device} has no IP address, or is down; this link shares the kernel's`);
    return addresses;
  }

  #open(raw: RawSocketModule, addresses: readonly string[]): void {
    const ours = addresses.map(addressOf);
    const open = (protocol: number, version: 4 | 6): RawSocket | undefined => {
      if (!ours.some((address) => address.version === version)) return undefined;
      const socket = openRaw(raw, this.name, { protocol, version, device: this.#device });
      // The package calls us outside of what Node calls a callback scope.
      socket.on('error', (error) => setImmediate(() => this.#fail(error.message)));
      this.#sockets.push(socket);
      return socket;
    };
    const addresses6 = ours.filter(({ version }) => version === 6);
    const common = { mtu: this.mtu, deliver: (batch: FrameBatch) => this.#receive(batch) };
    const receiver = new RawReceiver({ ...common, addresses: addresses6 });
    this.#receiver = receiver;
    if (this.#libc !== undefined && addresses6.length > 0) {
      const names = { link: this.name, device: this.#device };
      this.#ipv6 = new Ipv6Receiver(this.#libc, { ...common, ...names, bufferBytes: RECEIVE_BUFFER_BYTES });
    }
    for (const version of [4, 6] as const) {
      if (version === 6 && this.#ipv6 !== undefined) continue;
      const socket = open(IPPROTO_UDP, version);
      if (socket === undefined) continue;
      enlargeReceiveBuffer(socket, RECEIVE_BUFFER_BYTES);
      receiver.attach(socket, version);
    }
    const outgoing = { 4: open(IPPROTO_RAW, 4), 6: open(IPPROTO_RAW, 6) };
    this.#sender = new RawSender(this.mtu, this.#counters, outgoing, () => {
      if (!this.#ended) this.#sink?.writable();
    });
  }

  #receive(batch: FrameBatch): void {
    this.#counters.received += batch.count;
    this.#sink?.receive(batch);
  }

  #countDrops(): void {
    this.#dropped = (this.#receiver?.drops ?? 0) + (this.#ipv6?.drops ?? 0);
  }

  #look(): void {
    const [socket] = this.#sockets;
    if (socket !== undefined && !interfaceIsThere(socket)) this.#fail(`the interface ${this.#device} is gone`);
  }

  #fail(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#release();
    void this.#port?.release();
    this.#sink?.closed(new RoceError('ERR_ROCE_CLOSED', `${this.name}: ${reason}`));
  }

  #release(): void {
    clearInterval(this.#watch);
    this.#receiver?.stop();
    this.#ipv6?.stop();
    for (const socket of this.#sockets) closeRaw(socket);
    this.#sockets = [];
  }
}

function addressOf(prefix: string): IpPrefix['address'] {
  return IpPrefix.parse(prefix).address;
}

const WITHOUT_KOFFI: LinkEcn = {
  set: [4, 6],
  read: [4],
  reason:
    'the kernel tells the traffic class of IPv6 packets beside them, and the package raw-socket does not ask: npm install koffi',
};
/** Where nothing tells. */
const DEFAULT_MTU = 1500;
/** The kernel doubles it and charges more than a packet's bytes: some thousand packets. */
const RECEIVE_BUFFER_BYTES = 0x80_00_00;
const WATCH_MS = 1000;
