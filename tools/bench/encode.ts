/**
 * A packet made from nothing, headers, payload and ICRC, against the one part of it that cannot be avoided: the CRC of
 * its bytes.
 */
import { FrameWriter } from 'rocev2/packets';
import { type Bench, contest, scaled, secondsOf } from './bench.ts';
import { crcSeconds } from './crc-bound.ts';
import { HEADER_BYTES, writeWriteOnly } from './packets.ts';

const PAYLOAD_BYTES = 1024;
const PACKETS = 200_000;
const BATCH = 64;
/** The ICRC does not cover the Ethernet header. */
const COVERED_BYTES = HEADER_BYTES - 14 + PAYLOAD_BYTES;

export const encodeBench: Bench = {
  name: 'encode',
  title: 'encode with ICRC, 1 KiB packets',
  async run(settings) {
    const batches = scaled(PACKETS / BATCH, settings);
    const writer = new FrameWriter(BATCH, HEADER_BYTES + PAYLOAD_BYTES + 4);
    const payload = new Uint8Array(PAYLOAD_BYTES).map((_, index) => index * 31);
    const covered = new Uint8Array(COVERED_BYTES).map((_, index) => index * 31);
    return contest(this.name, settings, {
      unit: 'packets/s',
      peer: `CRC of ${COVERED_BYTES} bytes, zlib's or ours (bound)`,
      ours: () => (batches * BATCH) / secondsOf(() => encodeAll(writer, payload, batches)),
      theirs: () => (batches * BATCH) / crcSeconds(covered, batches * BATCH),
    });
  },
};

function encodeAll(writer: FrameWriter, payload: Uint8Array, batches: number): void {
  for (let batch = 0; batch < batches; batch++) {
    writer.reset();
    for (let i = 0; i < BATCH; i++) writeWriteOnly(writer, batch * BATCH + i, payload, PAYLOAD_BYTES);
  }
}
