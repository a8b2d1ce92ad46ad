/**
 * The frames at the beginning of a capture, kept until it is known whether two interfaces saw the same: as numbers and
 * bytes in two tables, since nearly all captures are of one interface, and nobody will ask for them.
 *
 * Owns the tables and their growth. `captured-frame.ts` has what a record is.
 */
import type { IcrcState } from '../../dissection.ts';
import type { Direction } from '../../types.ts';
import {
  blankFrame,
  type CapturedFrame,
  FrameReader,
  type FrameRecord,
  MOST_KEPT_BYTES,
  type PathFacts,
} from './captured-frame.ts';

export class EarlyFrames {
  /** Frames kept. */
  length = 0;
  #numbers = new Float64Array(FIRST_CAPACITY * COLUMNS);
  #bytes = new Uint8Array(FIRST_CAPACITY * MOST_KEPT_BYTES);
  readonly #reader = new FrameReader();
  readonly #record = blankFrame();

  add(facts: PathFacts): void {
    if (this.length * COLUMNS === this.#numbers.length) this.#grow();
    const record = this.#record;
    this.#reader.read(facts, record);
    this.#reader.copyEnds(this.#bytes, this.length * MOST_KEPT_BYTES);
    this.#write(record, this.length * COLUMNS);
    this.length++;
  }

  /** All of them, as records of their own. */
  records(): CapturedFrame[] {
    return Array.from({ length: this.length }, (_, index) => this.#read(index));
  }

  #write(record: FrameRecord, at: number): void {
    const numbers = this.#numbers;
    numbers[at] = record.number;
    numbers[at + 1] = record.timeNs;
    numbers[at + 2] = record.interfaceIndex;
    numbers[at + 3] = record.direction;
    numbers[at + 4] = record.key;
    numbers[at + 5] = record.length;
    numbers[at + 6] = record.bodyHash;
    numbers[at + 7] = record.ipOffset;
    numbers[at + 8] = record.ipVersion;
    numbers[at + 9] = record.ecn;
    numbers[at + 10] = record.icrc;
    numbers[at + 11] = record.hopLimit;
    numbers[at + 12] = record.source;
    numbers[at + 13] = record.destination;
    numbers[at + 14] = record.stations;
    numbers[at + 15] = record.damaged ? 1 : 0;
  }

  #read(index: number): CapturedFrame {
    const record = blankFrame();
    const at = index * COLUMNS;
    const value = (column: number): number => this.#numbers[at + column] as number;
    record.number = value(0);
    record.timeNs = value(1);
    record.interfaceIndex = value(2);
    record.direction = value(3) as Direction;
    record.key = value(4);
    record.length = value(5);
    record.bodyHash = value(6);
    record.ipOffset = value(7);
    record.ipVersion = value(8) as CapturedFrame['ipVersion'];
    record.ecn = value(9);
    record.icrc = value(10) as IcrcState;
    record.hopLimit = value(11);
    record.source = value(12);
    record.destination = value(13);
    record.stations = value(14);
    record.damaged = value(15) === 1;
    const from = index * MOST_KEPT_BYTES;
    record.bytes = this.#bytes.slice(from, from + Math.min(record.length, MOST_KEPT_BYTES));
    return record;
  }

  #grow(): void {
    const numbers = new Float64Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    const bytes = new Uint8Array(2 * this.#bytes.length);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}

const FIRST_CAPACITY = 64;
const COLUMNS = 16;
