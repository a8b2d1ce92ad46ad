/**
 * Reads captures that were taken at several places as one: packets in the order of their times, each capture an
 * interface.
 *
 * Owns that order, the numbers of packets and interfaces, and their names. Within a file packets keep their order,
 * whatever their times; of equal times the earlier file comes first, as mergecap has it. Opens no file.
 */
import type { CapturedPacket, CaptureInterface } from 'rocev2/pcap/read';
import type { PacketFeed, PacketTaker, ReadingResult } from './packet-feed.ts';

/** One of several captures. */
export interface NamedFeed {
  /** What its interface is called; of several interfaces the beginning of their names. */
  readonly name: string;
  readonly feed: PacketFeed;
}

/**
 * Hands over the packets of all captures, and closes them. Where one has a defect the others go on; but nothing is
 * handed over where one has it before its first packet, which is more likely a mistake than a capture. Rejects with
 * what `take` throws.
 */
export async function readMerged(captures: readonly NamedFeed[], take: PacketTaker): Promise<ReadingResult> {
  try {
    const sources = captures.map(({ name, feed }) => new Source(name, feed));
    for (const source of sources) await source.advance();
    const interfaces = new Interfaces(sources);
    const isBroken = sources.some(({ head, feed }) => head === undefined && feed.damage !== undefined);
    if (!isBroken) await mergeAll(sources, interfaces, take);
    const damaged = sources.find(({ feed }) => feed.damage !== undefined);
    const result = { interfaces: interfaces.all(), damage: damaged?.feed.damage };
    return damaged === undefined ? result : { ...result, damaged: damaged.name };
  } finally {
    for (const { feed } of captures) await feed.close();
  }
}

async function mergeAll(sources: readonly Source[], interfaces: Interfaces, take: PacketTaker): Promise<void> {
  for (let number = 1; ; number++) {
    const source = earliest(sources);
    if (source?.head === undefined) return;
    const { head, feed } = source;
    take(renumbered(head, number, interfaces.indexOf(source, head.interfaceIndex)), feed.icrc, feed.dissection);
    if (!source.step()) await source.advance();
  }
}

/** One capture and the next packet of it. */
class Source {
  readonly name: string;
  readonly feed: PacketFeed;
  head: CapturedPacket | undefined;
  /** Indices of its interfaces in the whole. */
  readonly indices: number[] = [];

  constructor(name: string, feed: PacketFeed) {
    this.name = name;
    this.feed = feed;
  }

  /** Goes to the next packet where it is there already. */
  step(): boolean {
    this.head = this.feed.next();
    return this.head !== undefined;
  }

  /** Goes to the next packet, or the end. */
  async advance(): Promise<void> {
    while (!this.step()) if (!(await this.feed.more())) return;
  }
}

function earliest(sources: readonly Source[]): Source | undefined {
  let found: Source | undefined;
  for (const source of sources) {
    if (source.head !== undefined && (found?.head === undefined || isBefore(source.head, found.head))) found = source;
  }
  return found;
}

function isBefore(one: CapturedPacket, other: CapturedPacket): boolean {
  return one.seconds < other.seconds || (one.seconds === other.seconds && one.nanoseconds < other.nanoseconds);
}

/** The same packet; those without what few have are all of one shape. */
function renumbered(packet: CapturedPacket, number: number, interfaceIndex: number): CapturedPacket {
  const { seconds, nanoseconds, bytes, originalLength, linkType, direction, comments, dropCount, packetId } = packet;
  const plain = { number, seconds, nanoseconds, bytes, originalLength, linkType, interfaceIndex, direction, comments };
  if (dropCount === undefined && packetId === undefined) return plain;
  return {
    ...plain,
    ...(dropCount === undefined ? {} : { dropCount }),
    ...(packetId === undefined ? {} : { packetId }),
  };
}

/** The interfaces of all captures, by index in the whole: those of first packets in the order of the captures. */
class Interfaces {
  readonly #sources: readonly Source[];
  #count = 0;

  /** @param sources at their first packets; what else their files describe may not be known yet */
  constructor(sources: readonly Source[]) {
    this.#sources = sources;
    for (const source of sources) if (source.head !== undefined) this.indexOf(source, source.head.interfaceIndex);
  }

  /** Of an interface of this capture. */
  indexOf(source: Source, index: number): number {
    while (source.indices.length <= index) source.indices.push(this.#count++);
    return source.indices[index] as number;
  }

  all(): CaptureInterface[] {
    const all: CaptureInterface[] = [];
    for (const source of this.#sources) {
      const { interfaces } = source.feed;
      interfaces.forEach((described, index) => {
        const own = described.name === '' ? `${index}` : described.name;
        const name = interfaces.length === 1 ? source.name : `${source.name} ${own}`;
        all[this.indexOf(source, index)] = { ...described, name };
      });
    }
    return all;
  }
}
