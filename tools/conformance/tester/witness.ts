/**
 * Memory of a device without host control, seen and changed through a connection of its own: READ and WRITE with the
 * key of the region. Owns the PSNs of that connection. It works where the target's connections share a protection
 * domain.
 */
import { Op } from 'rocev2/packets';
import { describePacket, readRequest, writePackets } from 'rocev2/packets/kit';
import { Inconclusive, NotApplicable } from './outcome.ts';
import type { ReceivedPacket, Region, TesterPeer } from './peer.ts';

export class Witness {
  readonly #peer: TesterPeer;
  #psn = 0;

  constructor(peer: TesterPeer) {
    this.#peer = peer;
  }

  /** @throws NotApplicable where the key works on its own connection only */
  async read(region: Region, offset: number, length: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0);
    const psn = this.#psn;
    const packets = Math.ceil(length / this.#peer.mtu);
    this.#psn += packets;
    const reth = { va: region.va + BigInt(offset), rkey: region.rkey, length };
    this.#peer.tx(readRequest({ psn, reth }));
    const bytes = new Uint8Array(length);
    for (let i = 0; i < packets; i++) {
      const { packet } = await this.#answer();
      const { payload = bytes } = packet;
      if (!RESPONSES.includes(packet.opcode) || packet.psn !== psn + i || i * this.#peer.mtu + payload.length > length)
        throw new Inconclusive(`memory could not be looked at: ${describePacket(packet)} came for a READ`);
      bytes.set(payload, i * this.#peer.mtu);
    }
    return bytes;
  }

  async write(region: Region, offset: number, bytes: Uint8Array): Promise<void> {
    const packets = writePackets({
      ...{ psn: this.#psn, data: bytes, va: region.va + BigInt(offset), rkey: region.rkey, mtu: this.#peer.mtu },
    });
    this.#psn += packets.length;
    this.#peer.tx(...packets);
    for (;;) {
      const { packet } = await this.#answer();
      if (packet.opcode !== Op.Acknowledge)
        throw new Inconclusive(`memory could not be set: ${describePacket(packet)} came for a WRITE`);
      if (packet.psn === this.#psn - 1) return;
    }
  }

  async #answer(): Promise<ReceivedPacket> {
    const received = await this.#peer.take();
    if (received === undefined)
      throw new Inconclusive('memory could not be reached: no answer on the second connection');
    const { opcode, syndrome = 0 } = received.packet;
    if (opcode === Op.Acknowledge && syndrome === NAK_REMOTE_ACCESS)
      throw new NotApplicable('the keys of the target work on their own connection only: memory cannot be looked at');
    if (opcode === Op.Acknowledge && syndrome >= 0x20)
      throw new Inconclusive(`memory could not be reached: ${describePacket(received.packet)} came`);
    return received;
  }
}

const NAK_REMOTE_ACCESS = 0x62;
const RESPONSES: readonly number[] = [
  Op.ReadResponseOnly,
  Op.ReadResponseFirst,
  Op.ReadResponseMiddle,
  Op.ReadResponseLast,
];
