/** Our fields of a frame against tshark's, name by name: what differs, in sentences; and what Wireshark 4.0 is known to misread. */
import type { FieldValue } from '../../packets/field-list.ts';
import type { TsharkFrame } from './tshark-values.ts';

/** Sentences on what differs; names that were compared go into `seen`. */
export function differencesOf(ours: Record<string, FieldValue>, theirs: TsharkFrame, seen: Set<string>): string[] {
  const differences: string[] = [];
  for (const [name, value] of Object.entries(theirs)) {
    if (!name.startsWith('infiniband') || NOT_FIELDS.has(name)) continue;
    if (RESERVED.test(name)) {
      // Reserved bits are not decoded, so they have to be zero for the frame to be written again.
      const set = [value].flat().find((bits) => !/^[0x:]*$/.test(bits) && !isMisread(name, ours, bits));
      if (set !== undefined) differences.push(`${name} is not zero: ${set}`);
    } else if (ours[name] === undefined) {
      differences.push(`${name} is missing, tshark has ${value}`);
    }
  }
  for (const [name, value] of Object.entries(ours)) {
    if (name.startsWith('roce.')) continue;
    const theirValue = [theirs[name] ?? []].flat()[0];
    seen.add(name);
    if (theirValue === undefined) differences.push(`${name} is ${value}, tshark has no such field`);
    else if (!isSameValue(value, theirValue) && !isMisread(name, ours, theirValue))
      differences.push(`${name} is ${value}, tshark has ${theirValue}`);
  }
  return differences;
}

/** Whether tshark's other value is exactly the known misreading. */
function isMisread(name: string, ours: Record<string, FieldValue>, theirs: string): boolean {
  const flowLabel = ours['infiniband.cm.req.prim_flowlabel'];
  return typeof flowLabel === 'number' && MISREAD.get(name)?.(flowLabel) === Number(theirs);
}

function isSameValue(ours: FieldValue, theirs: string): boolean {
  if (ours === theirs) return true;
  if (typeof ours === 'string' && !/^\d+$/.test(ours)) return false;
  // Immediate data and the R_Key of an invalidate are byte strings to tshark and numbers here.
  const number = /^[0-9a-f]{2}(:[0-9a-f]{2})+$/.test(theirs) ? `0x${theirs.replaceAll(':', '')}` : theirs;
  return BigInt(ours) === BigInt(number);
}

/** As tshark writes byte strings. */
export function colonHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** Whole headers as bytes, of which each field is compared by itself, and the parts of a service id. */
const NOT_FIELDS = new Set(
  [
    ...[
      'bth',
      'deth',
      'reth',
      'aeth',
      'atomiceth',
      'atomicacketh',
      'mad',
      'mad.data',
      'smplid.smpdata',
      'cm.req.ip_cm',
    ],
    'cm.req.serviceid.prefix',
  ].map((name) => `infiniband.${name}`),
);

const RESERVED = /reserved\d*$/;

/**
 * What Wireshark 4.0 shows for the path of a REQ, from the true flow label: it takes the label, the reserved bits and the packet rate
 * from the first three bytes and the first byte of the label (packets/cm/path.ts).
 */
const MISREAD: ReadonlyMap<string, (flowLabel: number) => number> = new Map([
  ['infiniband.cm.req.prim_flowlabel', (label: number) => label >>> 8],
  ['infiniband.cm.req.prim_reserved0', (label: number) => label >>> 18],
  ['infiniband.cm.req.prim_pktrate', (label: number) => (label >>> 12) & 0x3f],
]);
