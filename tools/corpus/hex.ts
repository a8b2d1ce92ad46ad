/** Values of the corpus: what JSON holds, with large numbers and bytes as hexadecimal text. */

/** What an expectation is made of. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/** Bytes without separators. */
export function hexBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** 64 bits as 16 digits after 0x. */
export function hex64(value: bigint): string {
  return `0x${value.toString(16).padStart(16, '0')}`;
}

/** Bytes without the zeros at their end, which fill areas of a fixed size. */
export function hexArea(bytes: Uint8Array): string {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return hexBytes(bytes.subarray(0, end));
}
