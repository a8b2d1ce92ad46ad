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
  const total = records.reduce((sum, { bytes }) => sum + HEADER_BYTES + Math.min(bytes.length, MAX_BYTES), 0);
  const input = new Uint8Array(total);
  let at = 0;
  for (const { flags, bytes } of records) {
    const length = Math.min(bytes.length, MAX_BYTES);
    input.set([flags, length >>> 8, length & 0xff], at);
    input.set(bytes.subarray(0, length), at + HEADER_BYTES);
    at += HEADER_BYTES + length;
  }
  return input;
}

const MAX_BYTES = 0xff_ff;
const HEADER_BYTES = 3;
