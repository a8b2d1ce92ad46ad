/**
 * Multicast groups of the link `udp6`: a socket for each, bound to the group, so that what comes to it is known to have
 * been sent there; the rebuilt headers carry the group address, and the ICRC covers them. Owns those sockets. Never
 * sends.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { UdpEndpoint } from './udp-endpoint.ts';

/** Takes a datagram that was sent to the group. */
export type GroupSink = (message: Uint8Array, from: RemoteInfo) => void;

export class Udp6Groups {
  readonly #endpoint: UdpEndpoint;
  readonly #sockets = new Map<string, Socket>();

  constructor(endpoint: UdpEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Joins on the interface of the link's address. Rejects with ERR_ROCE_ADDRESS or ERR_ROCE_LINK_UNAVAILABLE. */
  async join(group: IpAddress, sink: GroupSink): Promise<void> {
    if (group.version !== 6)
      throw new RoceError('ERR_ROCE_ADDRESS', `${group} is no IPv6 group, and this link uses IPv6`);
    const { interfaceName, port } = this.#endpoint;
    // Other processes of this machine may be in the same group.
    const socket = createSocket({ type: 'udp6', ipv6Only: true, reuseAddr: true });
    this.#sockets.set(`${group}`, socket);
    try {
      await bind(socket, interfaceName === undefined ? `${group}` : `${group}%${interfaceName}`, port);
      socket.addMembership(`${group}`, interfaceName === undefined ? undefined : `::%${interfaceName}`);
    } catch (cause) {
      this.#end(group, socket);
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${group} cannot be joined: ${reason}`, { cause });
    }
    socket.on('message', sink);
    // The group is lost, the link is not.
    socket.on('error', () => this.#end(group, socket));
  }

  /** A join that is still under way is rejected, and whoever waits for it has left. */
  leave(group: IpAddress): void {
    const socket = this.#sockets.get(`${group}`);
    if (socket !== undefined) this.#end(group, socket);
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }

  /** Nothing when the group was left meanwhile: the socket there may be another one by now. */
  #end(group: IpAddress, socket: Socket): void {
    if (this.#sockets.get(`${group}`) !== socket) return;
    this.#sockets.delete(`${group}`);
    socket.close();
  }
}

function bind(socket: Socket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = () => reject(new Error('the group was left'));
    socket.once('error', reject);
    // A socket that is closed during bind emits nothing else.
    socket.once('close', left);
    socket.bind({ address, port }, () => {
      socket.off('error', reject);
      socket.off('close', left);
      resolve();
    });
  });
}
