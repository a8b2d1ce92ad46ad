/**
 * Inputs that are lists of records (frames, messages): flags 1 | length 2, big-endian | bytes, over and over. A length
 * beyond the end means what is left, so that any bytes are such a list.
 */

export interface InputRecord {
  /** What the target is to do with it before it is used, one bit each; see the targets. */
  readonly flags: number;
  readonly bytes: Uint8Array;
}

export function unpackRecords(input: Uint8Array): InputRecord[] {
  const records: InputRecord[] = [];
  for (let at = 0; at + HEADER_BYTES <= input.length; ) {
    const length = ((input[at + 1] ?? 0) << 8) | (input[at + 2] ?? 0);
    const start = at + HEADER_BYTES;
    const end = Math.min(start + length, input.length);
    records.push({ flags: input[at] ?? 0, bytes: input.slice(start, end) });
    at = end;
  }
  return records;
}

export function packRecords(records: readonly InputRecord[]): Uint8Array {
  return Uint8Array.from(
    records.flatMap(({ flags, bytes }) => [
      flags,
      bytes.length >>> 8,
      bytes.length & 0xff,
      ...bytes.subarray(0, 0xff_ff),
    ]),
  );
}

const HEADER_BYTES = 3;
