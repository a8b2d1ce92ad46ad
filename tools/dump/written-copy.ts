/**
 * A new pcapng file of packets whose source is no file: interfaces as they come.
 */
import { type CapturedPacket, PcapngWriter } from 'rocev2/pcap';
import type { CaptureSource, PacketCopy } from './source.ts';

export class WrittenCopy implements PacketCopy {
  readonly #writer = new PcapngWriter({ application: 'roce dump' });
  readonly #source: CaptureSource;
  readonly #indices = new Map<number, number>();

  constructor(source: CaptureSource) {
    this.#source = source;
  }

  get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  take(): Uint8Array {
    return this.#writer.take();
  }

  keep(packet: CapturedPacket): void {
    const { bytes, seconds, nanoseconds, direction, comments, originalLength } = packet;
    const options = { direction, comments, originalLength };
    this.#writer.packet(this.#indexOf(packet), bytes, 0, bytes.length, seconds, nanoseconds, options);
  }

  #indexOf({ interfaceIndex, linkType }: CapturedPacket): number {
    const known = this.#indices.get(interfaceIndex);
    if (known !== undefined) return known;
    const described = this.#source.interfaces?.[interfaceIndex];
    const name = described?.name ?? '';
    const description = described?.description ?? '';
    const added = this.#writer.addInterface({ name, description, linkType });
    this.#indices.set(interfaceIndex, added);
    return added;
  }
}
