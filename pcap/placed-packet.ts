/**
 * A packet where it lies: what a reader makes of each record, in one object that it fills again.
 *
 * Owns the fields and how a packet of its own is made of them. Its bytes are an object only where one asks for them:
 * who dissects a packet needs none, and to make one takes longer than to read the record.
 */
import { type CapturedPacket, Direction } from './types.ts';

/**
 * The packet at hand of a reader: read it before the next one, and while the bytes of the file are there.
 *
 * @internal
 */
export class PlacedPacket implements CapturedPacket {
  number = 0;
  seconds = 0;
  nanoseconds = 0;
  originalLength = 0;
  linkType = 0;
  interfaceIndex = 0;
  direction: Direction = Direction.Unknown;
  comments: readonly string[] = NO_COMMENTS;
  // Not optional here: an object that has a field now and then has several shapes.
  dropCount: number | undefined = undefined;
  packetId: bigint | undefined = undefined;
  /** Memory that the bytes lie in, the same object for all packets of a chunk of the file. */
  memory: Uint8Array = new Uint8Array(0);
  /** Where they begin in it. */
  at = 0;
  /** How many there are. */
  captured = 0;

  get bytes(): Uint8Array {
    // Not `subarray`, which takes twice as long.
    return new Uint8Array(this.memory.buffer, this.memory.byteOffset + this.at, this.captured);
  }
}

/** The same packet as an object of its own. Those without what few packets have are all of one shape. */
export function ownPacket(placed: PlacedPacket): CapturedPacket {
  const { dropCount, packetId } = placed;
  const packet = {
    number: placed.number,
    seconds: placed.seconds,
    nanoseconds: placed.nanoseconds,
    bytes: placed.bytes,
    originalLength: placed.originalLength,
    linkType: placed.linkType,
    interfaceIndex: placed.interfaceIndex,
    direction: placed.direction,
    comments: placed.comments,
  };
  if (dropCount === undefined && packetId === undefined) return packet;
  return {
    ...packet,
    ...(dropCount === undefined ? {} : { dropCount }),
    ...(packetId === undefined ? {} : { packetId }),
  };
}

const NO_COMMENTS: readonly string[] = [];
