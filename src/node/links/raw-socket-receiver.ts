/**
 * Packets from raw sockets, in batches: each is read straight into a slot of the slab that is handed over, so none is
 * copied.
 *
 * Owns the slab, the rounds of reading and the rebuilding of IPv6 headers. Never parses beyond the UDP port.
 * An IPv4 raw socket hands up the whole packet. An IPv6 one removes the header (RFC 3542 section 3, seen on 6.18): the
 * source comes with the packet, the length is known, and of our addresses the one is taken with which the ICRC is
 * right. Traffic class, flow label and hop limit are lost; the ICRC does not cover them (ref:wire#3). Where koffi is,
 * `raw-socket-ipv6.ts` receives IPv6 with all fields.
 */
import { IpAddress } from '../../../packets/address.ts';
import { BTH_BYTES } from '../../../packets/bth.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { computeIcrc, ICRC_BYTES } from '../../../packets/icrc.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES } from '../../../packets/ipv4.ts';
import {
  IPV6_BYTES,
  IPV6_DESTINATION_AT,
  IPV6_HOP_LIMIT_AT,
  IPV6_NEXT_HEADER_AT,
  IPV6_PAYLOAD_LENGTH_AT,
  IPV6_SOURCE_AT,
} from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT } from '../../../packets/udp.ts';
import type { RawSocket } from './raw-socket-module.ts';
import { EAGAIN_TEXT, SocketMemory, textOf } from './raw-socket-system.ts';

export interface ReceiverOptions {
  /** Largest IP packet in bytes; longer ones (the kernel has put fragments together) are dropped and counted. */
  readonly mtu: number;
  /** Ours, of version 6. */
  readonly addresses: readonly IpAddress[];
  /** Called from a turn of the event loop of its own; the batch is ours again when it returns. */
  readonly deliver: (batch: FrameBatch) => void;
}

/** What is known of a sender. */
interface Source {
  readonly address: IpAddress;
  /** Index of our address that it last sent to. */
  spokeTo: number;
}

export class RawReceiver {
  /** Packets beyond the MTU. */
  oversize = 0;
  /** Reads that failed for another reason than that there was nothing. */
  faults = 0;
  readonly #options: ReceiverOptions;
  readonly #batch: ReceiveSlab;
  readonly #memories: SocketMemory[] = [];
  readonly #sources = new Map<string, Source>();
  #flushing: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#batch = new ReceiveSlab(IPV6_BYTES + options.mtu + 1);
  }

  /** Takes over the reading of `socket`, which is of protocol UDP. */
  attach(socket: RawSocket, version: 4 | 6): void {
    const slots = this.#batch.slots(version === 4 ? 0 : IPV6_BYTES);
    const memory = new SocketMemory(socket);
    this.#memories.push(memory);
    const take =
      version === 4
        ? (_: Uint8Array, bytes: number) => this.#takeV4(bytes)
        : (_: Uint8Array, bytes: number, source: string) => this.#takeV6(bytes, source);
    // In the place of the package's own listener, which reads one packet for each turn of the event loop.
    socket.wrap.removeAllListeners('recvReady');
    socket.wrap.on('recvReady', () => this.#read(socket, slots, memory, take));
  }

  /** Packets that the kernel dropped because the receive buffer was full. */
  get drops(): number {
    return this.#memories.reduce((sum, { drops }) => sum + drops, 0);
  }

  /** Stops reading and delivering. */
  stop(): void {
    this.#stopped = true;
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
  }

  #read(
    socket: RawSocket,
    slots: readonly Buffer[],
    memory: SocketMemory,
    take: (buffer: Uint8Array, bytes: number, source: string) => void,
  ): void {
    const batch = this.#batch;
    try {
      for (let reads = 0; reads < READS_PER_TURN && !this.#stopped; reads++) {
        const slot = slots[batch.count];
        // Full: the rest waits in the kernel until the batch has been handed over, in this very turn.
        if (slot === undefined) break;
        socket.wrap.recv(slot, take);
        if (!memory.waiting) break;
      }
    } catch (error) {
      if (textOf(error) !== EAGAIN_TEXT) this.faults++;
    }
    // The package calls us outside of what Node calls a callback scope: promises settled here would wait for the next
    // event.
    if (batch.count > 0) this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = undefined;
    if (this.#stopped) return;
    this.#options.deliver(this.#batch);
    this.#batch.count = 0;
  }

  #takeV4(bytes: number): void {
    const { view, count } = this.#batch;
    const at = this.#batch.slotAt(count);
    if (bytes < IPV4_BYTES + UDP_BYTES) return;
    const udp = at + 4 * (view.getUint8(at) & 0x0f);
    if (udp + UDP_BYTES > at + bytes || view.getUint16(udp + UDP_DEST_PORT_AT) !== ROCE_UDP_PORT) return;
    this.#append(at, bytes);
  }

  #takeV6(bytes: number, sourceText: string): void {
    const { view, count } = this.#batch;
    const at = this.#batch.slotAt(count);
    if (bytes < UDP_BYTES || view.getUint16(at + IPV6_BYTES + UDP_DEST_PORT_AT) !== ROCE_UDP_PORT) return;
    const source = this.#source(sourceText);
    view.setUint32(at, IPV6_FIRST_WORD);
    view.setUint16(at + IPV6_PAYLOAD_LENGTH_AT, bytes);
    view.setUint8(at + IPV6_NEXT_HEADER_AT, IP_PROTOCOL_UDP);
    view.setUint8(at + IPV6_HOP_LIMIT_AT, UNKNOWN_HOP_LIMIT);
    source.address.write(view, at + IPV6_SOURCE_AT);
    this.#writeDestination(source, at, at + IPV6_BYTES + bytes);
    this.#append(at, IPV6_BYTES + bytes);
  }

  /**
   * The one address there is, or the one with which the ICRC is right. With none, the ICRC check drops the packet
   * later.
   */
  #writeDestination(source: Source, at: number, end: number): void {
    const { addresses } = this.#options;
    const { view, bytes } = this.#batch;
    const bth = at + IPV6_BYTES + UDP_BYTES;
    const icrc = end - ICRC_BYTES;
    for (let tries = 0; tries < addresses.length; tries++) {
      const index = (source.spokeTo + tries) % addresses.length;
      addresses[index]?.write(view, at + IPV6_DESTINATION_AT);
      if (addresses.length === 1 || icrc < bth + BTH_BYTES) return;
      if (computeIcrc(bytes, view, at, 6, bth, icrc) !== view.getUint32(icrc, true)) continue;
      source.spokeTo = index;
      return;
    }
  }

  #source(text: string): Source {
    const known = this.#sources.get(text);
    if (known !== undefined) return known;
    // Sources may be forged, so the table is bounded; evicted entries are learned again.
    if (this.#sources.size >= MAX_SOURCES) this.#sources.clear();
    const source = { address: IpAddress.parse(text), spokeTo: 0 };
    this.#sources.set(text, source);
    return source;
  }

  #append(at: number, length: number): void {
    if (length > this.#options.mtu) this.oversize++;
    else this.#batch.append(at, length);
  }
}

/** Slots of one slab, filled one after another. */
class ReceiveSlab implements FrameBatch {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly starts = new Int32Array(SLOTS);
  readonly lengths = new Int32Array(SLOTS);
  count = 0;
  readonly #stride: number;
  readonly #slotBytes: number;

  constructor(slotBytes: number) {
    this.#slotBytes = slotBytes;
    this.#stride = Math.ceil(slotBytes / PAGE_BYTES) * PAGE_BYTES;
    this.bytes = new Uint8Array(SLOTS * this.#stride);
    this.view = new DataView(this.bytes.buffer);
  }

  slotAt(index: number): number {
    return index * this.#stride;
  }

  /** The slots as buffers, without their first `skipped` bytes. */
  slots(skipped: number): readonly Buffer[] {
    return Array.from({ length: SLOTS }, (_, index) =>
      Buffer.from(this.bytes.buffer, this.slotAt(index) + skipped, this.#slotBytes - skipped),
    );
  }

  append(at: number, length: number): void {
    this.starts[this.count] = at;
    this.lengths[this.count] = length;
    this.count++;
  }
}

const SLOTS = 128;
/** A bound, so that the other socket, timers and the rest of the process can run. */
const READS_PER_TURN = 64;
const PAGE_BYTES = 4096;
const MAX_SOURCES = 1024;
/** Version 6, traffic class and flow label 0. */
const IPV6_FIRST_WORD = 0x60_00_00_00;
const UNKNOWN_HOP_LIMIT = 64;
