/**
 * Packets of the open file as a file of their own: those that are shown, or those that are named.
 *
 * Owns what is kept of each: bytes, time, interface, direction and comments. Blocks that are no packets are not copied.
 */
import { PcapngWriter } from 'rocev2/pcap';
import type { CaptureSession } from './session.ts';

/** A pcapng file, in pieces; `indices` are in the order of the file to be. Throws where the packets cannot be read. */
export function exportPackets(session: CaptureSession, indices: Iterable<number>, comment: string): Uint8Array[] {
  const writer = new PcapngWriter({ application: 'rocev2 explorer', comment });
  for (const one of session.interfaces) writer.addInterface(one);
  const pieces: Uint8Array[] = [];
  for (const index of indices) {
    const packet = session.packet(index);
    if (packet === undefined) continue;
    const { bytes, seconds, nanoseconds, interfaceIndex, direction, comments, originalLength } = packet;
    writer.packet(interfaceIndex, bytes, 0, bytes.length, seconds, nanoseconds, {
      direction,
      comments,
      originalLength,
    });
    if (writer.pendingBytes > PIECE_BYTES) pieces.push(writer.take());
  }
  pieces.push(writer.take());
  return pieces;
}

/** Indices of the packets that are shown, in the order of the capture. */
export function* shownIndices(session: CaptureSession): Generator<number> {
  for (let row = 0; row < session.shown; row++) yield session.indexOfRow(row) ?? 0;
}

const PIECE_BYTES = 4 * 1024 * 1024;
