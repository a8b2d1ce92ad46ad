/**
 * Keeps the kernel quiet about packets that it hands to a raw socket as well: a UDP socket of the port on each address.
 * Without one, each RoCE packet is answered with an ICMP port unreachable (seen on 6.18). Owns those sockets. What they
 * receive is never looked at: their buffer is the smallest there is, so that the kernel drops nearly all of it at once.
 */
import { createSocket, type Socket } from 'node:dgram';
import { readdirSync } from 'node:fs';
import type { IpAddress } from '../../../packets/address.ts';
import { ROCE_UDP_PORT } from '../../../packets/udp.ts';
import { linkOf, readText } from './proc-files.ts';
import { textOf, unavailable } from './raw-socket-system.ts';

export class HeldPort {
  readonly #sockets: Socket[] = [];

  /**
   * Takes the port on every one of `addresses`, or on none. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE naming the
   * process that has it
   */
  static async hold(link: string, addresses: readonly IpAddress[]): Promise<HeldPort> {
    const port = new HeldPort();
    try {
      for (const address of addresses) port.#sockets.push(await bound(address));
      return port;
    } catch (cause) {
      await port.release();
      throw unavailable(`${link}: ${textOf(cause)}`, cause);
    }
  }

  async release(): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))));
    this.#sockets.length = 0;
  }
}

async function bound(address: IpAddress): Promise<Socket> {
  const type = address.version === 4 ? 'udp4' : 'udp6';
  const socket = createSocket({ type, ipv6Only: type === 'udp6', recvBufferSize: SMALLEST_BUFFER_BYTES });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ address: address.toString(), port: ROCE_UDP_PORT, exclusive: true }, resolve);
    });
  } catch (cause) {
    socket.close();
    throw new Error(whyNot(address, cause), { cause });
  }
  socket.removeAllListeners('error');
  socket.on('error', () => {});
  // The raw sockets keep the process alive for as long as the link is open.
  return socket.unref();
}

function whyNot(address: IpAddress, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const place = `UDP port ${ROCE_UDP_PORT} of ${address}`;
  if (code === 'EADDRINUSE') return `${place} is taken by ${portHolder(address.version)}`;
  if (code === 'EADDRNOTAVAIL') return `${address} cannot be used yet: its uniqueness is still being checked`;
  return `${place} cannot be taken: ${textOf(cause)}`;
}

/**
 * The processes that have a UDP socket of the port, as far as this process may see them; a socket without a process is
 * the kernel's (man 5 proc_pid_net).
 */
function portHolder(version: 4 | 6): string {
  // An IPv6 socket on the wildcard address takes the port of IPv4 as well.
  const inodes = [...(version === 4 ? socketInodes('udp') : []), ...socketInodes('udp6')];
  const holder = processes().find((pid) => hasSocket(pid, inodes));
  if (holder === undefined) return 'another process, or by the kernel itself (the driver rdma_rxe)';
  return `process ${holder} (${readText(`/proc/${holder}/comm`).trim()})`;
}

function socketInodes(table: string): string[] {
  const port = `:${ROCE_UDP_PORT.toString(16).toUpperCase()}`;
  return readText(`/proc/thread-self/net/${table}`)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local]) => local?.endsWith(port) ?? false)
    .map((words) => words[INODE_COLUMN] ?? '');
}

function processes(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function hasSocket(pid: string, inodes: readonly string[]): boolean {
  try {
    const names = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
    return names.some((name) => inodes.some((inode) => name === `socket:[${inode}]`));
  } catch {
    // The process has ended, or is another user's.
    return false;
  }
}

/** The kernel makes more of it: SOCK_MIN_RCVBUF, about a packet. */
const SMALLEST_BUFFER_BYTES = 1;
const INODE_COLUMN = 9;
