/**
 * The option list at the end of pcapng blocks. Source: draft-ietf-opsawg-pcapng, section on options.
 */

import { Option } from './pcapng-blocks.ts';

/** Called for each option; the value is `[at, at + length)` of `view`. */
export type OptionVisitor = (code: number, view: DataView, at: number, length: number, littleEndian: boolean) => void;

/**
 * Visits the options in `[at, end)`. Returns -1, or the offset of the first option that does not fit. The list may end
 * with an end-of-options mark or simply with the block.
 */
export function readOptions(
  view: DataView,
  at: number,
  end: number,
  littleEndian: boolean,
  visit: OptionVisitor,
): number {
  let next = at;
  while (end - next >= OPTION_HEADER_BYTES) {
    const code = view.getUint16(next, littleEndian);
    const length = view.getUint16(next + 2, littleEndian);
    if (code === Option.End) return -1;
    if (length > end - next - OPTION_HEADER_BYTES) return next;
    visit(code, view, next + OPTION_HEADER_BYTES, length, littleEndian);
    next += OPTION_HEADER_BYTES + Math.ceil(length / 4) * 4;
  }
  return -1;
}

/** A UTF-8 value as text; bytes that are not UTF-8 become the replacement character, a trailing NUL is dropped. */
export function optionText(view: DataView, at: number, length: number): string {
  const text = UTF8.decode(new Uint8Array(view.buffer, view.byteOffset + at, length));
  return text.endsWith('\0') ? text.slice(0, -1) : text;
}

const OPTION_HEADER_BYTES = 4;
const UTF8 = new TextDecoder();
