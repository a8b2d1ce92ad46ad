/** Addresses of sockets as rdma_cm passes them: struct sockaddr_in and sockaddr_in6, in room for any. */
import { IpAddress } from '../../../packets/address.ts';

const AF_INET = 2;
const AF_INET6 = 10;
const PORT_AT = 2;
const IN_ADDR_AT = 4;
const IN6_ADDR_AT = 8;

export const SOCKADDR_IN_BYTES = 16;
export const SOCKADDR_IN6_BYTES = 28;

/** An address with its port; the unspecified one where any will do. */
export interface SocketAddress {
  readonly address: IpAddress;
  readonly port: number;
}

/** The address at `at`; undefined for no family we have, family 0 included. */
export function readSockaddr(view: DataView, at: number): SocketAddress | undefined {
  const family = view.getUint16(at, true);
  const port = view.getUint16(at + PORT_AT);
  if (family === AF_INET) return { address: IpAddress.read(view, at + IN_ADDR_AT, 4), port };
  if (family === AF_INET6) return { address: IpAddress.fromGid(view, at + IN6_ADDR_AT), port };
  return undefined;
}

/** Writes an address; returns how many bytes it has. */
export function writeSockaddr(view: DataView, at: number, { address, port }: SocketAddress): number {
  view.setUint16(at + PORT_AT, port);
  if (address.version === 4) {
    view.setUint16(at, AF_INET, true);
    address.write(view, at + IN_ADDR_AT);
    return SOCKADDR_IN_BYTES;
  }
  view.setUint16(at, AF_INET6, true);
  address.writeGid(view, at + IN6_ADDR_AT);
  return SOCKADDR_IN6_BYTES;
}

/** 0.0.0.0 and ::. */
export function isAny({ w0, w1, w2, w3, version }: IpAddress): boolean {
  return w3 === 0 && (version === 4 || (w0 === 0 && w1 === 0 && w2 === 0));
}

/** 127.0.0.0/8 and ::1. */
export function isLoopback({ w0, w1, w2, w3, version }: IpAddress): boolean {
  if (version === 4) return w3 >>> 24 === 127;
  return w0 === 0 && w1 === 0 && w2 === 0 && w3 === 1;
}
