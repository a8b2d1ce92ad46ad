/**
 * Name resolution blocks of pcapng: the names that the capturing host had for addresses.
 *
 * Owns the records of these blocks, and how many are kept. Source: draft-ietf-opsawg-pcapng, section on the name
 * resolution block.
 *
 * ```
 * record:  type 2 | length 2 | address and names, each name with a zero after it, padded to 4
 * ```
 */
import { formatMac, MAC_BYTES } from '../packets/address.ts';
import { captureError } from './capture-error.ts';
import type { Block } from './pcapng-block.ts';
import { NameRecord, padded } from './pcapng-blocks.ts';
import type { TextBudget } from './text-budget.ts';

/** Adds the names in `block` to `names`, by address as text. Throws ERR_ROCE_CAPTURE for a record that does not fit. */
export function readNames(block: Block, budget: TextBudget, names: Map<string, string[]>): void {
  let at = 0;
  while (block.bodyLength - at >= RECORD_HEADER_BYTES) {
    const type = block.u16(at);
    if (type === NameRecord.End) return;
    const length = block.u16(at + 2);
    const value = at + RECORD_HEADER_BYTES;
    if (length > block.bodyLength - value) {
      throw captureError(block.offsetOf(at), 'a name record does not fit into its block');
    }
    const addressBytes = ADDRESS_BYTES.get(type);
    if (addressBytes !== undefined && length > addressBytes) {
      add(addressText(block, value, type), block.text(value + addressBytes, length - addressBytes), budget, names);
    }
    at = value + padded(length);
  }
}

function add(address: string, list: string, budget: TextBudget, names: Map<string, string[]>): void {
  for (const name of list.split('\0')) {
    const known = names.get(address) ?? [];
    // Some writers repeat what they know, so the same record may come again and again.
    if (name === '' || known.includes(name) || known.length >= MOST_NAMES_OF_ONE) continue;
    if (!budget.take(address) || !budget.take(name)) return;
    names.set(address, [...known, name]);
  }
}

function addressText(block: Block, at: number, type: number): string {
  if (type === NameRecord.Eui48) return formatMac(block.bytes(at, MAC_BYTES));
  return block.address(at, type === NameRecord.Ipv4 ? 4 : 6).toString();
}

const RECORD_HEADER_BYTES = 4;
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [NameRecord.Ipv4, 4],
  [NameRecord.Ipv6, 16],
  [NameRecord.Eui48, MAC_BYTES],
]);
const MOST_NAMES_OF_ONE = 64;
