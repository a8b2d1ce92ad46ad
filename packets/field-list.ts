/**
 * An ordered list of named values: what printers and JSON writers are fed with.
 *
 * Owns how a value is shown. Names are tshark's wherever tshark has the field, so that they can be typed into its
 * filter; what it does not know begins with `roce.`. Never reads a packet. Cold path: allocates freely.
 */

import type { IpAddress, MacAddress } from './address.ts';
import { formatMac } from './address.ts';

/** What ends up in JSON. */
export type FieldValue = number | string;

interface Field {
  readonly section: string;
  readonly name: string;
  readonly value: number | bigint | string;
  /** What people get to see. */
  readonly shown: string;
}

/**
 * Named values in order, in sections; filled by the `*Fields` functions.
 *
 * @example
 * ```ts
 * import { FieldList } from 'rocev2/packets';
 *
 * const list = new FieldList();
 * list.begin('infiniband.bth');
 * list.hex('infiniband.bth.destqp', 0x11, 6);
 * list.decimal('infiniband.bth.psn', 100);
 * console.log(list.toLines('  ', 100)[0]?.trim()); // infiniband.bth: destqp 0x000011, psn 100
 * console.log(JSON.stringify(list.toRecord())); // {"infiniband.bth.destqp":17,"infiniband.bth.psn":100}
 * ```
 */
export class FieldList {
  private readonly fields: Field[] = [];
  private section = '';

  /** What follows is shown on a line of its own behind this name: the common start of the field names. */
  begin(section: string): void {
    this.section = section;
  }

  /** A number shown in decimal. */
  decimal(name: string, value: number | bigint): void {
    this.add(name, value, `${value}`);
  }

  /** A number shown in hex with at least `digits` digits. */
  hex(name: string, value: number | bigint, digits: number): void {
    this.add(name, value, hexNumber(value, digits));
  }

  /** A value shown as it is. */
  text(name: string, value: string): void {
    this.add(name, value, value);
  }

  /** An IP address, shown as text. */
  address(name: string, value: IpAddress): void {
    this.text(name, value.toString());
  }

  /** A MAC address, shown as text. */
  mac(name: string, value: MacAddress): void {
    this.text(name, formatMac(value));
  }

  /**
   * Bytes as tshark's JSON has them, hex with colons; zeros at the end, of which private data is full, are shown as
   * their number.
   */
  bytes(name: string, value: Uint8Array): void {
    let end = value.length;
    while (end > 0 && value[end - 1] === 0) end--;
    const zeros = value.length - end;
    const parts = [hexBytes(value.subarray(0, end)), zeros > 0 ? `${zeros} zeros` : ''];
    this.add(name, hexBytes(value), parts.filter((part) => part !== '').join(' + ') || 'empty');
  }

  /**
   * All values by name. A number that a double cannot hold exactly, above 2^53 - 1, becomes the string of its decimal
   * digits: a consumer that knows about it loses nothing, and any other still gets plain numbers for everything else.
   */
  toRecord(): Record<string, FieldValue> {
    const record: Record<string, FieldValue> = {};
    for (const { name, value } of this.fields) record[name] = typeof value === 'bigint' ? exactValue(value) : value;
    return record;
  }

  /** One line a section, wrapped to `width` columns. */
  toLines(indent: string, width: number): string[] {
    const lines: string[] = [];
    let section: string | undefined;
    for (const field of this.fields) {
      const last = lines.at(-1);
      const item = `${shortName(field)} ${field.shown}`;
      if (field.section !== section || last === undefined) {
        section = field.section;
        lines.push(`${indent}${section}: ${item}`);
      } else if (last.length + 2 + item.length <= width) {
        lines[lines.length - 1] = `${last}, ${item}`;
      } else {
        lines[lines.length - 1] = `${last},`;
        lines.push(`${indent}${indent}${item}`);
      }
    }
    return lines;
  }

  private add(name: string, value: number | bigint | string, shown: string): void {
    this.fields.push({ section: this.section, name, value, shown });
  }
}

/** `0x` and at least `digits` digits. */
export function hexNumber(value: number | bigint, digits: number): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

function exactValue(value: bigint): FieldValue {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}

function hexBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

// "infiniband.bth.psn" in section "infiniband.bth" is "psn"; of "infiniband.reth.va" in "infiniband.atomiceth"
// "reth.va" is left.
function shortName({ section, name }: Field): string {
  const sectionParts = section.split('.');
  const parts = name.split('.');
  let common = 0;
  while (common < parts.length - 1 && parts[common] === sectionParts[common]) common++;
  return parts.slice(common).join('.');
}
