/**
 * Our fields of one frame against tshark's, name by name, both ways.
 *
 * Owns which names are compared with each other and when two values are the same. Never decides which one is right:
 * `expectation.ts` does.
 */

import type { FieldValue } from 'rocev2/packets';
import { type TsharkFrame, valuesOf } from './tshark-frames.ts';

/** A field of which the two say different things. */
export interface FieldDifference {
  /** tshark's name of it. */
  readonly field: string;
  /** Undefined: we print no such field. */
  readonly ours: FieldValue | undefined;
  /** Empty: tshark prints no such field. Of reserved bits only what is not zero. */
  readonly theirs: readonly string[];
}

/** What a comparison found. */
export interface FieldComparison {
  /** Names that were compared, ours as well as tshark's that we do not print. */
  readonly compared: readonly string[];
  /** Those of them on which the two differ. */
  readonly differences: readonly FieldDifference[];
}

/** Compares `ours`, as `frameFields` has it, with what tshark says of the same frame. */
export function compareFields(ours: Readonly<Record<string, FieldValue>>, theirs: TsharkFrame): FieldComparison {
  const compared: string[] = [];
  const differences: FieldDifference[] = [];
  for (const [ownName, value] of Object.entries(ours)) {
    const field = nameAtTshark(ownName, theirs);
    if (field === undefined) continue;
    compared.push(field);
    const values = valuesOf(theirs, field);
    if (!isSaid(field, value, values)) differences.push({ field, ours: value, theirs: values });
  }
  const printed = new Set(compared);
  for (const field of Object.keys(theirs)) {
    if (printed.has(field) || !MUST_BE_OURS.test(field) || NOT_FIELDS.has(field)) continue;
    // Malformed is a disagreement with what we call a whole RoCEv2 packet; other protocols we do not judge.
    if (field === MALFORMED && ours['roce.frame.status'] !== 'Ok') continue;
    compared.push(field);
    const values = valuesOf(theirs, field);
    // Reserved bits are not decoded: as long as they are zero there is nothing to say about them.
    const worthSaying = RESERVED.test(field) ? values.filter((bits) => !/^[0x:]*$/.test(bits)) : values;
    if (!RESERVED.test(field) || worthSaying.length > 0)
      differences.push({ field, ours: undefined, theirs: worthSaying });
  }
  return { compared, differences };
}

/** Whether a value of ours and one of tshark's are the same: as text, or as numbers in whatever notation. */
export function isSameValue(ours: FieldValue, theirs: string): boolean {
  if (ours === theirs) return true;
  if (typeof ours === 'string' && !/^\d+$/.test(ours)) return false;
  const number = numberOf(theirs);
  return number !== undefined && BigInt(ours) === number;
}

/** As tshark writes byte strings. */
export function colonHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** The name under which tshark would have our field; undefined for what it cannot know. */
function nameAtTshark(name: string, theirs: TsharkFrame): string | undefined {
  if (!name.startsWith('roce.')) return name;
  const other = OTHER_NAMES[name];
  return other !== undefined && theirs[other] !== undefined ? other : undefined;
}

function isSaid(field: string, ours: FieldValue, theirs: readonly string[]): boolean {
  // Of two tags the inner one is the one next to IP.
  const said = field.startsWith('vlan.') ? theirs.slice(-1) : theirs;
  return said.length > 0 && said.every((value) => isSameValue(ours, value));
}

/**
 * Decimal, hex, flags of newer versions, and byte strings, as which tshark has immediate data and the key of an
 * invalidate.
 */
function numberOf(text: string): bigint | undefined {
  if (text === 'True') return 1n;
  if (text === 'False') return 0n;
  if (/^[0-9a-f]{2}(?::[0-9a-f]{2})+$/.test(text)) return BigInt(`0x${text.replaceAll(':', '')}`);
  return /^(?:\d+|0x[0-9a-f]+)$/i.test(text) ? BigInt(text) : undefined;
}

/**
 * What tshark prints of these we have to print too: the InfiniBand tree whole, and of the layers around it what we list
 * of them.
 */
const MUST_BE_OURS = new RegExp(
  [
    '^(?:infiniband.*|_ws\\.malformed|eth\\.(?:dst|src|type|len)|vlan\\.(?:priority|dei|id|etype|len)',
    'arp\\.(?:opcode|src\\.hw_mac|src\\.proto_ipv4|dst\\.hw_mac|dst\\.proto_ipv4)',
    'ip\\.(?:hdr_len|dsfield(?:\\.dscp|\\.ecn)?|len|id|flags(?:\\.df|\\.mf)?|frag_offset|ttl|proto|checksum|src|dst)',
    'ipv6\\.(?:version|tclass(?:\\.dscp|\\.ecn)?|flow|plen|nxt|hlim|src|dst)',
    'udp\\.(?:srcport|dstport|length|checksum)|tcp\\.(?:srcport|dstport)|icmp\\.(?:type|code|checksum)',
    'icmpv6\\.(?:type|code|checksum|nd\\.n[sa]\\.target_address))$',
  ].join('|'),
);
const MALFORMED = '_ws.malformed';

/** Whole headers as bytes, of which each field is compared by itself, and the parts of a service id. */
const NOT_FIELDS: ReadonlySet<string> = new Set(
  [
    ...['bth', 'rdeth', 'deth', 'reth', 'aeth', 'atomiceth', 'atomicacketh', 'feth', 'mad', 'mad.data'],
    ...['smplid.smpdata', 'cm.req.ip_cm', 'cm.req.serviceid.prefix', 'payload'],
  ].map((name) => `infiniband.${name}`),
);

const RESERVED = /reserved\d*$/;

/**
 * Fields of ours that tshark shows elsewhere, or will: what it takes for payload is its layer `data`; the FETH has
 * fields in a later version (its field table was read, it was never run).
 */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'roce.payload.len': 'data.len',
  'roce.feth.placement': 'infiniband.feth.plt',
  'roce.feth.selectivity': 'infiniband.feth.sel',
};
