/**
 * Multicast groups of the link `udp6`: a socket for each, bound to the group, so that what comes to it is known to have been sent there;
 * the headers put back before a packet say so, and the ICRC covers them. Owns those sockets. Never sends.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { IpAddress } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import type { UdpEndpoint } from './udp-endpoint.ts';

/** Hands over a datagram that was sent to a group. */
export type GroupSink = (group: IpAddress, message: Uint8Array, from: RemoteInfo) => void;

export class Udp6Groups {
  readonly #endpoint: UdpEndpoint;
  readonly #sink: GroupSink;
  readonly #sockets = new Map<string, Socket>();

  constructor(endpoint: UdpEndpoint, sink: GroupSink) {
    this.#endpoint = endpoint;
    this.#sink = sink;
  }

  /** Joins on the interface of the link's address. Rejects with ERR_ROCE_ADDRESS or ERR_ROCE_LINK_UNAVAILABLE. */
  async join(group: IpAddress): Promise<void> {
    if (group.version !== 6)
      throw new RoceError('ERR_ROCE_ADDRESS', `${group} is no group of IPv6, which this link speaks`);
    const { interfaceName, port } = this.#endpoint;
    // Other processes of this machine may be in the same group.
    const socket = createSocket({ type: 'udp6', ipv6Only: true, reuseAddr: true });
    this.#sockets.set(`${group}`, socket);
    try {
      await bind(socket, interfaceName === undefined ? `${group}` : `${group}%${interfaceName}`, port);
      socket.addMembership(`${group}`, interfaceName === undefined ? undefined : `::%${interfaceName}`);
    } catch (cause) {
      this.leave(group);
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${group} cannot be joined: ${reason}`, { cause });
    }
    socket.on('message', (message, from) => this.#sink(group, message, from));
    // The group is lost, the link is not.
    socket.on('error', () => this.leave(group));
  }

  leave(group: IpAddress): void {
    const socket = this.#sockets.get(`${group}`);
    this.#sockets.delete(`${group}`);
    socket?.close();
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }
}

function bind(socket: Socket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ address, port }, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}
