/**
 * Mapped buffers of an rsocket, both ways: those of ours that the peer writes into, and those of the peer that we may
 * write.
 *
 * Owns the slots of the peer's list and the look-up by offset (rdma:rsocket.c#riomap, #rs_find_iomap). Never posts
 * anything.
 */
import { RoceError } from '../../../packets/errors.ts';
import { Access, type MemoryRegion } from '../../../transport/memory.ts';
import type { RdmaPd } from '../../device/api.ts';
import {
  type ConnData,
  fits,
  IOMAP_BYTES,
  type RemoteSge,
  readIomap,
  SGE_BYTES,
  TARGET_ENTRIES,
  writeIomap,
} from './protocol.ts';

/** Memory of ours that the peer may write at an offset of our choice. */
export interface IoMapping {
  /** The peer's offset of the first byte. */
  readonly offset: bigint;
  /** The memory that the peer may write to. */
  readonly region: MemoryRegion;
}

interface Mapped extends IoMapping {
  /** Place in the peer's list. */
  readonly slot: number;
}

export class IoMaps {
  readonly #pd: RdmaPd;
  readonly #list: DataView;
  readonly #entries: number;
  /** Ours, by place in the peer's list. */
  #mine: (Mapped | undefined)[] = [];
  /** Mappings not sent to the peer yet. */
  readonly #untold: Mapped[] = [];
  #peerLittleEndian = true;
  #peerList: Pick<RemoteSge, 'addr' | 'key'> = { addr: 0n, key: 0 };

  /** @param list memory of the list of buffers, with `entries` iomap entries behind it, which the peer writes */
  constructor(pd: RdmaPd, list: DataView, entries: number) {
    this.#pd = pd;
    this.#list = list;
    this.#entries = entries;
  }

  /** Takes the peer's connection data: the address of its list, and its number of entries. */
  begin({ targetSgl, iomapSize, bigEndian }: ConnData): void {
    this.#peerLittleEndian = !bigEndian;
    this.#peerList = { addr: targetSgl.addr + BigInt(targetSgl.length * SGE_BYTES), key: targetSgl.key };
    this.#mine = new Array<Mapped | undefined>(iomapSize).fill(undefined);
  }

  /** @throws RoceError ERR_ROCE_LIMIT when the peer's list is full, or what `regMr` throws */
  map(memory: Uint8Array | number, offset: bigint | undefined): IoMapping {
    const slot = this.#mine.indexOf(undefined);
    if (slot < 0)
      throw new RoceError(
        'ERR_ROCE_LIMIT',
        `the peer's list of mapped buffers has no free entry of ${this.#mine.length}`,
      );
    const region = this.#pd.regMr(memory, { access: Access.LocalWrite | Access.RemoteWrite });
    const mapped = { slot, region, offset: offset ?? region.iova };
    this.#mine[slot] = mapped;
    this.#untold.push(mapped);
    return mapped;
  }

  /** @throws RoceError ERR_ROCE_STATE when it is not mapped */
  unmap({ region }: IoMapping): void {
    const slot = this.#mine.findIndex((mapped) => mapped?.region === region);
    if (slot < 0) throw new RoceError('ERR_ROCE_STATE', 'the buffer is not mapped');
    this.#mine[slot] = undefined;
    const untold = this.#untold.findIndex((mapped) => mapped.region === region);
    if (untold >= 0) this.#untold.splice(untold, 1);
    this.#pd.deregMr(region);
  }

  unmapAll(): void {
    for (const mapped of this.#mine) if (mapped !== undefined) this.unmap(mapped);
  }

  get untold(): boolean {
    return this.#untold.length > 0;
  }

  /** The next mapping to send to the peer, and the address of its entry in the peer's memory. */
  takeUntold():
    | { readonly slot: number; readonly bytes: Uint8Array; readonly addr: bigint; readonly key: number }
    | undefined {
    const mapped = this.#untold.shift();
    if (mapped === undefined) return undefined;
    const { slot, offset, region } = mapped;
    const { addr, key } = this.#peerList;
    const sge = { addr: region.iova, key: region.rkey, length: region.length };
    const bytes = new Uint8Array(IOMAP_BYTES);
    writeIomap(new DataView(bytes.buffer), 0, { offset, sge }, this.#peerLittleEndian);
    return { slot, bytes, addr: addr + BigInt(slot * IOMAP_BYTES), key };
  }

  /** Where the peer has mapped `offset`, and how many bytes from there on; undefined where it has mapped nothing. */
  find(offset: bigint): RemoteSge | undefined {
    for (let slot = 0; slot < this.#entries; slot++) {
      const { offset: first, sge } = readIomap(this.#list, TARGET_ENTRIES * SGE_BYTES + slot * IOMAP_BYTES, true);
      const into = offset - first;
      if (into < 0n || into >= BigInt(sge.length) || !fits(sge.addr, sge.length)) continue;
      return { addr: sge.addr + into, key: sge.key, length: sge.length - Number(into) };
    }
    return undefined;
  }
}
