/** Numbers as the stock tools write them. */

/** Lower-case hexadecimal digits, zeros in front, without a prefix. */
export function hex(value: number | bigint, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
