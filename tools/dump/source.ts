/**
 * Connects the sources of frames with what is done with them.
 */
import type { CapturedPacket, CaptureInterface } from 'rocev2/pcap';
import type { OutputBuffer } from './output.ts';

/** A source of packets. The bytes of a packet are valid until the next one is read. */
export interface CaptureSource extends AsyncIterable<CapturedPacket> {
  /** Interfaces known so far, by `CapturedPacket.interfaceIndex`; they give names to output. */
  readonly interfaces?: readonly CaptureInterface[];
  /** Packets come as they happen: nothing is held back longer than the turn in which they came. */
  readonly live?: boolean;
  /**
   * Makes a copy of the whole file without the packets that are not kept. To be called before the first packet is read.
   */
  copy?(): PacketCopy;
}

/** A capture file in the making: bytes of pcapng that gather until they are taken. */
export interface PacketCopy extends OutputBuffer {
  /** Takes the packet that the source gave out last. */
  keep(packet: CapturedPacket): void;
  take(): Uint8Array;
}
