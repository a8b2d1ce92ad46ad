/**
 * What the two UDP links share: how they are typed, the properties of the local address, and the headers that the
 * kernel takes off what arrives and that the ICRC covers all the same.
 * Owns no socket. On IPv6 every covered field is known without privileges: addresses, ports and lengths (ref:wire#2,
 * ref:wire#3).
 */

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { IpAddress } from '../../../packets/address.ts';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { IP_PROTOCOL_UDP } from '../../../packets/ipv4.ts';
import { IPV6_BYTES, IPV6_DESTINATION_AT } from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES } from '../../../packets/udp.ts';
import type { LinkText, Requirement } from './kind.ts';

/** The headers that a UDP socket removes. */
export const HEADER_BYTES = IPV6_BYTES + UDP_BYTES;
/** The most that a UDP datagram over IPv6 carries, jumbograms apart. */
export const MAX_DATAGRAM_BYTES = 0xff_ff - UDP_BYTES;

export interface UdpLinkOptions {
  /**
   * An IPv6 address of this machine, `::1`; brackets and the zone of a link-local one, `[fe80::1%eth0]`, are welcome.
   */
  readonly address: string;
  /** What both ends use on the wire in the place of 4791, for a wire of ours alone; the ICRC is as if it were 4791. */
  readonly port?: number;
  /** Largest IP packet in bytes; default that of the interface with the address, where the system tells. */
  readonly mtu?: number;
}

export interface UdpCounters {
  /** Frames handed to the kernel. */
  sent: number;
  received: number;
  /** Frames not sent: longer than the MTU. */
  oversize: number;
  /**
   * Frames not sent: not UDP over IPv6 to port 4791 from the address and port of the link, which is all it can send.
   */
  unsendable: number;
  /** Frames that the kernel refused: unreachable, no route, no memory. */
  refused: number;
}

export const UDP_USAGE = 'ADDRESS[,port=N][,mtu=N]';

export function takeUdpOptions(spec: LinkText): UdpLinkOptions {
  const port = spec.takeNumber('port', 1, 0xff_ff);
  const mtu = spec.takeMtu();
  return {
    address: spec.target,
    ...defined({ port, mtu }),
  };
}

/** Whether there is an address to bind to. */
export function ipv6Requirement(): Requirement {
  return {
    what: 'an IPv6 address',
    met: localAddresses().length > 0,
    remedy: 'enable IPv6, on the loopback interface at least',
  };
}

/** What to do about a failed `bind`, by the name of its error; undefined when that says it all. */
export function bindRemedy(code: string): string | undefined {
  return REMEDIES.get(code);
}

/** The address a link is bound to, and what the machine says of it. */
export class UdpEndpoint {
  readonly address: IpAddress;
  /** As `bind` takes it, with the zone of a link-local address. */
  readonly bindText: string;
  /** Zone of a link-local address, 0 otherwise. */
  readonly scopeId: number;
  /** Of the interface with the address; absent when no interface has it. */
  readonly interfaceName: string | undefined;
  readonly port: number;
  readonly mtu: number;
  /** With the prefix length of its interface; 128 when no interface has it. */
  readonly prefix: string;

  /** @throws RoceError ERR_ROCE_ARGUMENT, ERR_ROCE_ADDRESS */
  constructor(options: UdpLinkOptions) {
    const [, text = '', zone] = ADDRESS.exec(options.address.replace(/^\[(.*)\]$/, '$1')) ?? [];
    this.address = IpAddress.parse(text);
    checkAddress(this.address, text);
    const found = find(this.address, zone);
    const linkLocal = ((this.address.w0 >>> 16) & 0xff_c0) === LINK_LOCAL_PREFIX;
    this.scopeId = linkLocal ? (found?.interfaceIndex ?? 0) : 0;
    this.interfaceName = found?.interfaceName;
    this.bindText =
      linkLocal && found !== undefined ? `${this.address}%${found.interfaceName}` : this.address.toString();
    this.port = options.port ?? ROCE_UDP_PORT;
    this.prefix = `${this.address}/${found?.prefixLength ?? 128}`;
    this.mtu = options.mtu ?? Math.min(mtuOf(found), MAX_MTU);
  }

  /** Options after the kind, for the name of a link. */
  get label(): string {
    return `[${this.bindText}]${this.port === ROCE_UDP_PORT ? '' : `,port=${this.port}`}`;
  }
}

/** The other end of a datagram, and the headers of those that come from there. */
export class UdpPeer {
  readonly address: IpAddress;
  /** For `node:dgram`; made once. */
  readonly text: string;
  readonly #words: Int32Array;

  constructor(address: IpAddress, local: IpAddress) {
    this.address = address;
    this.text = address.toString();
    const words = new DataView(new ArrayBuffer(IPV6_BYTES));
    address.writeGid(words, IPV6_DESTINATION_AT - 16);
    local.writeGid(words, IPV6_DESTINATION_AT);
    this.#words = Int32Array.from({ length: IPV6_BYTES / 4 }, (_, index) => words.getInt32(4 * index));
  }

  /**
   * Writes the `HEADER_BYTES` in front of a payload of so many bytes. Hop limit and flow label are unknown, and no part
   * of the ICRC.
   */
  writeHeaders(view: DataView, at: number, payloadBytes: number, sourcePort: number, trafficClass: number): void {
    const words = this.#words;
    const udpBytes = payloadBytes + UDP_BYTES;
    view.setInt32(at, 0x60_00_00_00 | (trafficClass << 20));
    view.setInt32(at + 4, (udpBytes << 16) | (IP_PROTOCOL_UDP << 8) | HOP_LIMIT);
    for (let i = 2; i < IPV6_BYTES / 4; i++) view.setInt32(at + 4 * i, words[i] ?? 0);
    view.setInt32(at + IPV6_BYTES, (sourcePort << 16) | ROCE_UDP_PORT);
    view.setInt32(at + IPV6_BYTES + 4, udpBytes << 16);
  }

  isAt(view: DataView, at: number): boolean {
    const { w0, w1, w2, w3 } = this.address;
    return (
      view.getUint32(at + 12) === w3 &&
      view.getUint32(at + 8) === w2 &&
      view.getUint32(at + 4) === w1 &&
      view.getUint32(at) === w0
    );
  }
}

/**
 * Peers by the bytes of their address. Drops all of them when there are too many: they can be made again at any time.
 */
export class UdpPeers {
  readonly #local: IpAddress;
  readonly #byWord = new Map<number, UdpPeer[]>();
  #last: UdpPeer;
  #count = 0;

  constructor(local: IpAddress) {
    this.#local = local;
    this.#last = new UdpPeer(local, local);
  }

  /** The peer whose 16 address bytes are at `at`. */
  at(view: DataView, at: number): UdpPeer {
    if (this.#last.isAt(view, at)) return this.#last;
    const word = view.getUint32(at + 12) ^ view.getUint32(at + 8);
    const same = this.#byWord.get(word);
    this.#last = same?.find((peer) => peer.isAt(view, at)) ?? this.#add(word, IpAddress.read(view, at, 6));
    return this.#last;
  }

  #add(word: number, address: IpAddress): UdpPeer {
    if (++this.#count > MAX_PEERS) {
      this.#byWord.clear();
      this.#count = 1;
    }
    const peer = new UdpPeer(address, this.#local);
    const same = this.#byWord.get(word);
    if (same === undefined) this.#byWord.set(word, [peer]);
    else same.push(peer);
    return peer;
  }
}

/**
 * Whether the frame at `at` is one that a UDP socket bound to `local` can send: the kernel writes all of its headers
 * but the destination.
 */
export function isSendable(view: DataView, at: number, length: number, local: IpAddress): boolean {
  return (
    length > HEADER_BYTES &&
    view.getUint32(at) >>> 28 === 6 &&
    (view.getUint32(at + 4) & 0xff_ff_ff_00) >>> 0 === (((length - IPV6_BYTES) << 16) | (IP_PROTOCOL_UDP << 8)) >>> 0 &&
    view.getUint32(at + IPV6_BYTES) === ROCE_PORTS &&
    view.getUint32(at + 20) === local.w3 &&
    view.getUint32(at + 16) === local.w2 &&
    view.getUint32(at + 12) === local.w1 &&
    view.getUint32(at + 8) === local.w0
  );
}

/**
 * Packets of the largest size that may be under way to a socket whose receive buffer holds so many bytes, as the kernel
 * counts: a packet takes a whole power of two and its own book-keeping (linux:include/linux/skbuff.h#SKB_TRUESIZE). Two
 * busy senders fit.
 */
export function windowFor(bufferBytes: number, mtu: number): number {
  const packetBytes = Math.min(mtu, MAX_ROCE_PACKET_BYTES);
  const kernelBytes = 2 ** Math.ceil(Math.log2(packetBytes + SKB_SHARED_BYTES)) + SKB_BYTES;
  return Math.max(MIN_WINDOW, Math.min(MAX_WINDOW, Math.floor(bufferBytes / 2 / kernelBytes)));
}

/**
 * How many bytes a socket may ask for to receive into, as an ordinary process; the kernel grants twice as many, for its
 * own needs.
 */
export function receiveBufferLimit(): number {
  return readNumber('/proc/sys/net/core/rmem_max') ?? DEFAULT_RMEM_MAX;
}

function checkAddress(address: IpAddress, text: string): void {
  if (address.version === 4)
    throw new RoceError(
      'ERR_ROCE_ADDRESS',
      `${text} is IPv4; the kernel's IP identification, which the ICRC covers, is unknown there`,
    );
  if ((address.w0 | address.w1 | address.w2 | address.w3) === 0 || address.isMulticast)
    throw new RoceError(
      'ERR_ROCE_ADDRESS',
      `${text} is no address of one interface; the ICRC covers the address, so name one`,
    );
}

interface LocalAddress {
  readonly address: IpAddress;
  readonly prefixLength: number;
  readonly interfaceName: string;
  readonly interfaceIndex: number;
}

function find(address: IpAddress, zone: string | undefined): LocalAddress | undefined {
  const ofZone = localAddresses().filter(({ interfaceName }) => zone === undefined || zone === interfaceName);
  return ofZone.find((local) => local.address.equals(address));
}

function localAddresses(): LocalAddress[] {
  const table = readText('/proc/thread-self/net/if_inet6');
  return table === undefined ? addressesOfNode() : addressesOfLinux(table);
}

/**
 * A line is address, index, prefix length, scope and flags in hex, and a name. Has interfaces without carrier too,
 * unlike Node.
 */
function addressesOfLinux(table: string): LocalAddress[] {
  return table.split('\n').flatMap((line) => {
    const [digits = '', index = '', prefixLength = '', , , interfaceName = ''] = line.trim().split(/\s+/);
    const words = digits.match(/[0-9a-f]{8}/g)?.map((word) => Number.parseInt(word, 16)) ?? [];
    const [w0, w1, w2, w3] = words;
    if (w0 === undefined || w1 === undefined || w2 === undefined || w3 === undefined) return [];
    const address = new IpAddress(6, w0, w1, w2, w3);
    const local = { address, prefixLength: Number.parseInt(prefixLength, 16), interfaceName };
    return [{ ...local, interfaceIndex: Number.parseInt(index, 16) }];
  });
}

function addressesOfNode(): LocalAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([interfaceName, all]) =>
    (all ?? []).flatMap((info) => {
      if (info.family !== 'IPv6') return [];
      const prefixLength = Number(info.cidr?.split('/')[1] ?? 128);
      return [{ address: IpAddress.parse(info.address), prefixLength, interfaceName, interfaceIndex: info.scopeid }];
    }),
  );
}

/** Linux tells, in the namespace of this process; elsewhere what every Ethernet carries. */
function mtuOf(local: LocalAddress | undefined): number {
  if (local === undefined) return DEFAULT_MTU;
  return readNumber(`/proc/sys/net/ipv6/conf/${local.interfaceName}/mtu`) ?? DEFAULT_MTU;
}

function readNumber(path: string): number | undefined {
  const value = Number(readText(path));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Another system, or a namespace that does not show it.
    return undefined;
  }
}

/** The largest path MTU and the longest headers. */
const MAX_ROCE_PACKET_BYTES = 4096 + 80 + 48;
const SKB_SHARED_BYTES = 384;
const SKB_BYTES = 256;
const MIN_WINDOW = 8;
const MAX_WINDOW = 256;
/** With or without a zone. */
const ADDRESS = /^([^%]*)(?:%(.+))?$/;
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'another process, or rdma_rxe of this machine, has this port; end it, or take another address'],
  ['EADDRNOTAVAIL', 'no interface of this machine has this address; `ip -6 address` lists those there are'],
  ['EACCES', 'this process may not bind this port'],
  ['EAFNOSUPPORT', 'this machine has no IPv6'],
]);
const LINK_LOCAL_PREFIX = 0xfe_80;
const DEFAULT_MTU = 1500;
/** By default: no RoCE packet is longer, and slots of two pages are enough. */
const MAX_MTU = 8000;
const DEFAULT_RMEM_MAX = 212_992;
const HOP_LIMIT = 64;
const MAX_PEERS = 4096;
const ROCE_PORTS = ((ROCE_UDP_PORT << 16) | ROCE_UDP_PORT) >>> 0;
