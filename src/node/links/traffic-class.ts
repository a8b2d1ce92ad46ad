/**
 * The traffic class of what a socket of `node:dgram` sends: Node has no way to set it, setsockopt(2) on its descriptor
 * has (IPV6_TCLASS, man 7 ipv6). Linux, where koffi is.
 *
 * Owns nothing of the socket but this one option. The descriptor is found as the system shows it, by the socket's
 * address and inode (man 5 proc_pid_net), and not by Node's internals. This does not work for received packets: its
 * traffic class is ancillary data, which libuv does not ask recvmsg(2) for, and a second reader of the descriptor would
 * take datagrams away from it.
 */
import { readdirSync } from 'node:fs';
import type { IpAddress } from '../../../packets/address.ts';
import type { LinkEcn } from '../../ground/link.ts';
import { type Libc, mayLoadLibc } from './libc.ts';
import { linkOf, readText } from './proc-files.ts';
import { IPPROTO_IPV6, IPV6_TCLASS } from './udp-constants.ts';

/** What a socket of `node:dgram` carries, given that its descriptor can be had or not; default: whether it may be. */
export function datagramEcn(settable = mayLoadLibc()): LinkEcn {
  return settable ? SET_ONLY : NEITHER;
}

/** The sockets that are bound to an address and port in the network namespace of the calling thread, by inode. */
export function boundSockets(address: IpAddress, port: number): ReadonlySet<string> {
  const { w0, w1, w2, w3 } = address;
  const local = `${[w0, w1, w2, w3].map(kernelHex).join('')}:${hex(port, 4)}`;
  const rows = readText('/proc/thread-self/net/udp6')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return new Set(rows.filter((row) => row[LOCAL_COLUMN] === local).map((row) => row[INODE_COLUMN] ?? ''));
}

/** Sets the option as packets need it, which is seldom: those of a queue pair have one traffic class. */
export class TrafficClass {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #value = new Int32Array(1);
  readonly #address: number;

  private constructor(libc: Libc, fd: number) {
    this.#libc = libc;
    this.#fd = fd;
    this.#address = libc.address(this.#value.buffer);
  }

  /**
   * Of the one socket of this process that is bound so now and was not `before`; undefined when that is not to be seen.
   */
  static of(libc: Libc, address: IpAddress, port: number, before: ReadonlySet<string>): TrafficClass | undefined {
    const names = new Set([...boundSockets(address, port)].filter((inode) => !before.has(inode)).map(socketName));
    const [fd, ...others] = descriptorsOf(names);
    return fd === undefined || others.length > 0 ? undefined : new TrafficClass(libc, fd);
  }

  /** What packets leave with that are sent now. */
  get current(): number {
    return this.#value[0] as number;
  }

  /** @param trafficClass 0 .. 255, which the kernel takes always (linux:net/ipv6/ipv6_sockglue.c#do_ipv6_setsockopt) */
  set(trafficClass: number): void {
    this.#value[0] = trafficClass;
    this.#libc.setsockopt(this.#fd, IPPROTO_IPV6, IPV6_TCLASS, this.#address, this.#value.byteLength);
  }
}

function descriptorsOf(names: ReadonlySet<string>): number[] {
  try {
    return readdirSync(DESCRIPTORS)
      .filter((fd) => names.has(linkOf(`${DESCRIPTORS}/${fd}`)))
      .map(Number);
  } catch {
    // Another system, or one that does not show them.
    return [];
  }
}

const socketName = (inode: string): string => `socket:[${inode}]`;

/**
 * A word of an address as the table has it: four bytes of the network read as a number of this machine, which is
 * little-endian.
 */
function kernelHex(word: number): string {
  const swapped = ((word & 0xff) << 24) | ((word & 0xff_00) << 8) | ((word >>> 8) & 0xff_00) | (word >>> 24);
  return hex(swapped >>> 0, 8);
}

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');

const READ_REASON =
  'node:dgram does not report the traffic class of received packets: use udp-offload to see ECN marks';
const SET_ONLY: LinkEcn = { set: [6], read: [], reason: READ_REASON };
const NEITHER: LinkEcn = {
  set: [],
  read: [],
  reason: `${READ_REASON}; nor does it set that of what leaves: npm install koffi`,
};
const DESCRIPTORS = '/proc/self/fd';
const LOCAL_COLUMN = 1;
const INODE_COLUMN = 9;
