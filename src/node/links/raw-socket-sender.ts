/**
 * Packets out of raw sockets: each is one sendto(2), made at once from the caller's own bytes.
 *
 * Owns the sending sockets' errors as counters, and the waiting for room. Never changes a packet. IPv4 goes out with
 * IP_HDRINCL (the kernel fills in total length and checksum, which are right already, and an identification only where
 * it is 0), IPv6 with IPV6_HDRINCL, every bit as written (man 7 raw, man 7 ipv6; seen on 6.18). Both come with a socket
 * of protocol IPPROTO_RAW.
 */
import { IpAddress } from '../../../packets/address.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { IPV4_BYTES, IPV4_DESTINATION_AT, IPV4_ID_AT } from '../../../packets/ipv4.ts';
import { IPV6_BYTES, IPV6_DESTINATION_AT } from '../../../packets/ipv6.ts';
import type { RawSocket } from './raw-socket-module.ts';
import { EAGAIN_TEXT, EMSGSIZE_TEXT, ENOBUFS_TEXT, textOf } from './raw-socket-system.ts';

export interface SendCounters {
  /** Packets handed to the kernel. */
  sent: number;
  /** Packets not sent: longer than the MTU. */
  oversize: number;
  /**
   * Packets not sent: not IP, of a version without a socket, or IPv4 with identification 0, which the kernel would
   * replace under the ICRC.
   */
  unsendable: number;
  /** Packets that the kernel refused: no route, unreachable, interface down, firewall. */
  refused: number;
}

export class RawSender {
  readonly #mtu: number;
  readonly #counters: SendCounters;
  readonly #writable: () => void;
  readonly #sockets: { readonly 4: RawSocket | undefined; readonly 6: RawSocket | undefined };
  readonly #destinations = new DestinationTexts();
  /** A view of the last batch as the package wants it. */
  #buffer: Buffer = Buffer.alloc(0);
  #blocked = false;

  constructor(
    mtu: number,
    counters: SendCounters,
    sockets: { readonly 4: RawSocket | undefined; readonly 6: RawSocket | undefined },
    writable: () => void,
  ) {
    this.#mtu = mtu;
    this.#counters = counters;
    this.#sockets = sockets;
    this.#writable = writable;
    for (const socket of [sockets[4], sockets[6]]) {
      // Nothing ever comes in there.
      socket?.pauseRecv();
      socket?.wrap.on('sendReady', () => this.#unblock(socket));
    }
  }

  /** As `Link.send`. */
  send(batch: FrameBatch, from: number): number {
    if (this.#buffer.buffer !== batch.bytes.buffer || this.#buffer.byteOffset !== batch.bytes.byteOffset)
      this.#buffer = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
    for (let i = from; i < batch.count; i++)
      if (!this.#sendOne(batch.view, batch.starts[i] ?? 0, batch.lengths[i] ?? 0)) return i - from;
    return batch.count - from;
  }

  /** False when there is no room and the packet has to wait. */
  #sendOne(view: DataView, at: number, length: number): boolean {
    const counters = this.#counters;
    const version = length >= IPV4_BYTES ? view.getUint8(at) >> 4 : 0;
    const socket = version === 4 ? this.#sockets[4] : version === 6 ? this.#sockets[6] : undefined;
    if (socket === undefined || !isSendable(view, at, length, version)) counters.unsendable++;
    else if (length > this.#mtu) counters.oversize++;
    else {
      try {
        socket.wrap.send(this.#buffer, at, length, this.#destinations.at(view, at, version), ignore);
        counters.sent++;
      } catch (error) {
        return this.#refused(socket, textOf(error));
      }
    }
    return true;
  }

  #refused(socket: RawSocket, reason: string): boolean {
    if (reason === EAGAIN_TEXT || reason === ENOBUFS_TEXT) {
      this.#blocked = true;
      socket.resumeSend();
      return false;
    }
    if (reason === EMSGSIZE_TEXT) this.#counters.oversize++;
    else this.#counters.refused++;
    return true;
  }

  #unblock(socket: RawSocket): void {
    socket.pauseSend();
    if (!this.#blocked) return;
    this.#blocked = false;
    // The package calls us outside of what Node calls a callback scope.
    setImmediate(this.#writable);
  }
}

function isSendable(view: DataView, at: number, length: number, version: number): boolean {
  return version === 4 ? view.getUint16(at + IPV4_ID_AT) !== 0 : length >= IPV6_BYTES;
}

/** The texts of destinations, which the package takes; one queue pair after another sends to few. */
class DestinationTexts {
  readonly #known = new Map<number, { readonly address: IpAddress; readonly text: string }>();

  at(view: DataView, at: number, version: number): string {
    const offset = at + (version === 4 ? IPV4_DESTINATION_AT : IPV6_DESTINATION_AT);
    const key = hashAt(view, offset, version);
    const found = this.#known.get(key);
    if (found !== undefined && standsAt(found.address, view, offset, version)) return found.text;
    const address = IpAddress.read(view, offset, version === 4 ? 4 : 6);
    if (this.#known.size >= MAX_DESTINATIONS) this.#known.clear();
    const text = address.toString();
    this.#known.set(key, { address, text });
    return text;
  }
}

function hashAt(view: DataView, offset: number, version: number): number {
  let hash = view.getInt32(offset);
  if (version === 4) return hash;
  for (let word = 4; word < 16; word += 4) hash = (Math.imul(hash, 31) + view.getInt32(offset + word)) | 0;
  return hash;
}

function standsAt(address: IpAddress, view: DataView, offset: number, version: number): boolean {
  if (version === 4) return address.version === 4 && address.w3 === view.getUint32(offset);
  return (
    address.version === 6 &&
    address.w3 === view.getUint32(offset + 12) &&
    address.w2 === view.getUint32(offset + 8) &&
    address.w1 === view.getUint32(offset + 4) &&
    address.w0 === view.getUint32(offset)
  );
}

function ignore(): void {}

const MAX_DESTINATIONS = 1024;
