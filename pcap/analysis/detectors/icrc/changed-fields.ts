/**
 * Fields that were changed after the ICRC had been computed: by NAT, by a kernel that fills in the IP identification,
 * by an offload that cuts or lengthens packets. The original value is solved for, not guessed.
 *
 * Owns the hypotheses and when one is accepted. A field of n bits explains a packet by chance with probability 2^(n -
 * 32). The remaining probability of chance must be below 2^-16. The same bits changed in the headers of packets of any
 * length are one equation of 32 bits, so an address of 32 bits always solves it. It is accepted when the capture
 * contains that address, or when it is private and the other address would not be.
 */
import { IpAddress } from '../../../../packets/address.ts';
import { solve } from './linear.ts';
import { bitEffects, CRC32, effectOf, type IcrcSample, syndromeOf } from './sample.ts';

/** What was changed. */
export interface ChangedFields {
  /** "IPv4 identification", "source address". */
  readonly fields: readonly string[];
  /** What was there when the ICRC was computed, of each field; "" where packets differ in it. */
  readonly originals: readonly string[];
  /** One of the fields is an address or a port, as after address translation. */
  readonly translation: boolean;
}

/**
 * The smallest change that explains all samples; undefined when none does.
 *
 * @param known addresses that occur in the capture
 */
export function findChange(samples: readonly IcrcSample[], known: readonly IpAddress[]): ChangedFields | undefined {
  const [first] = samples;
  if (first === undefined || samples.some(({ ipVersion }) => ipVersion !== first.ipVersion)) return undefined;
  const fields = fieldsOf(first);
  for (const field of fields) {
    const found = sameChange([field], samples) ?? (field.varies ? eachItsOwn(field, samples) : undefined);
    if (found !== undefined) return found;
  }
  return bothLengths(samples) ?? replacedAddress(samples, known) ?? translated(samples);
}

/** Byte of the single bit that, turned over, explains the packet, counted from the IP header; -1 when none does. */
export function flippedByte(sample: IcrcSample): number {
  const syndrome = syndromeOf(sample);
  if (syndrome !== 0 && (syndrome & (syndrome - 1)) === 0) return sample.icrcAt;
  // From the ICRC backwards: the effect of an earlier bit is that of its successor with one more zero bit after it.
  let effect = POLYNOMIAL_OF_LAST_BIT;
  for (let bit = 8 * sample.icrcAt - 1; bit >= 0; bit--) {
    if (effect === syndrome) return bit >> 3;
    effect = ((effect >>> 1) ^ (effect & 1 ? CRC32 : 0)) >>> 0;
  }
  return -1;
}

interface Field {
  readonly name: string;
  /** An address or a port, which address translation changes. */
  readonly translated: boolean;
  readonly at: number;
  readonly length: number;
  /** Packets of one flow differ in it, so that each may have been changed by something else. */
  readonly varies: boolean;
  readonly print: (original: Uint8Array) => string;
}

/** Every packet's field had been the same before, or was changed by the same bits. */
function sameChange(fields: readonly Field[], samples: readonly IcrcSample[]): ChangedFields | undefined {
  const effects = fields.flatMap((field) => bitColumns(field, samples));
  const solution = solve(effects, samples.map(syndromeOf));
  if (solution === undefined || !solution.unique) return undefined;
  if (32 - effects.length < SURE_BITS) return undefined;
  let taken = 0;
  const originals = fields.map((field) => {
    const mask = bytesOf(solution.chosen.slice(taken, taken + 8 * field.length));
    taken += 8 * field.length;
    const texts = samples.map((sample) => field.print(originalOf(field, sample, mask)));
    return texts.every((text) => text === texts[0]) ? (texts[0] ?? '') : '';
  });
  return { ...described(fields), originals };
}

/** Every packet's field was changed by bits of its own: the identification that a kernel counts up. */
function eachItsOwn(field: Field, samples: readonly IcrcSample[]): ChangedFields | undefined {
  const texts: string[] = [];
  for (const sample of samples) {
    const solution = solve(bitColumns(field, [sample]), [syndromeOf(sample)]);
    if (solution === undefined) return undefined;
    texts.push(field.print(originalOf(field, sample, bytesOf(solution.chosen))));
  }
  const distinct = new Set(samples.map(syndromeOf)).size;
  if (distinct * (32 - 8 * field.length) < SURE_BITS) return undefined;
  return { ...described([field]), originals: [texts.every((text) => text === texts[0]) ? (texts[0] ?? '') : ''] };
}

/** The lengths of IP and UDP counted some bytes more or less: the ICRC itself, the pad. */
function bothLengths(samples: readonly IcrcSample[]): ChangedFields | undefined {
  for (let more = -MOST_LENGTH_CHANGE; more <= MOST_LENGTH_CHANGE; more++) {
    if (more === 0 || !samples.every((sample) => lengthsFit(sample, more))) continue;
    const original = `${Math.abs(more)} bytes ${more < 0 ? 'less' : 'more'}`;
    return { fields: ['lengths of IP and UDP'], originals: [original], translation: false };
  }
  return undefined;
}

function lengthsFit(sample: IcrcSample, more: number): boolean {
  const ipLengthAt = sample.ipVersion === 4 ? 2 : 4;
  const effects = [ipLengthAt, sample.bthAt - 4].map((at) => {
    const length = sample.view.getUint16(at) + more;
    return replacement(sample, at, Uint8Array.of((length >> 8) & 0xff, length & 0xff));
  });
  return effects.reduce((sum, effect) => (sum ^ effect) >>> 0, syndromeOf(sample)) === 0;
}

/**
 * One of the two addresses was replaced; the original is a known address of the capture. The port may have changed too.
 */
function replacedAddress(samples: readonly IcrcSample[], known: readonly IpAddress[]): ChangedFields | undefined {
  const [first] = samples;
  if (first === undefined) return undefined;
  const port = sourcePortOf(first);
  for (const field of addressFields(first)) {
    const { at, length } = field;
    for (const address of known) {
      if (address.version !== first.ipVersion) continue;
      const bytes = addressBytes(address);
      const rest = samples.map((sample) => (syndromeOf(sample) ^ replacement(sample, at, bytes)) >>> 0);
      if (bytes.every((byte, i) => byte === first.bytes[at + i])) continue;
      if (rest.every((syndrome) => syndrome === 0)) return { ...described([field]), originals: [address.toString()] };
      if (length !== 4) continue;
      const solution = solve(bitColumns(port, samples), rest);
      if (solution === undefined) continue;
      const original = port.print(originalOf(port, first, bytesOf(solution.chosen)));
      return { ...described([field, port]), originals: [address.toString(), original] };
    }
  }
  return undefined;
}

/** The same bits of all headers were changed, as address translation does. */
function translated(samples: readonly IcrcSample[]): ChangedFields | undefined {
  const [first] = samples;
  if (first === undefined || !samples.every((sample) => headerSyndrome(sample) === headerSyndrome(first)))
    return undefined;
  if (first.ipVersion !== 4) return { fields: ['headers'], originals: [''], translation: false };
  const generic = { fields: ['addresses or ports'], originals: [''], translation: true };
  const plausible = addressFields(first).flatMap((field) => {
    const solution = solve(bitColumns(field, [first]), [syndromeOf(first)]);
    const original = solution === undefined ? undefined : originalOf(field, first, bytesOf(solution.chosen));
    return original !== undefined && isPrivate(original)
      ? [{ ...described([field]), originals: [field.print(original)] }]
      : [];
  });
  return plausible.length === 1 ? plausible[0] : generic;
}

/** What a syndrome would be if the packet ended with its BTH: equal where the same bits before it were changed. */
function headerSyndrome(sample: IcrcSample): number {
  let syndrome = syndromeOf(sample);
  for (let bit = 8 * (sample.icrcAt - sample.bthAt); bit > 0; bit--) {
    // The step of a zero bit, backwards: the polynomial has its top bit set, so that bit tells whether it was added.
    syndrome = (syndrome >>> 31 === 1 ? ((syndrome ^ CRC32) << 1) | 1 : syndrome << 1) >>> 0;
  }
  return syndrome;
}

/** RFC 1918. */
function isPrivate([a = 0, b = 0]: Uint8Array): boolean {
  return a === 10 || (a === 192 && b === 168) || (a === 172 && b >> 4 === 1);
}

function bitColumns({ at, length }: Field, samples: readonly IcrcSample[]): number[][] {
  const perSample = samples.map((sample) => bitEffects(sample, at, length));
  return Array.from({ length: 8 * length }, (_, bit) => perSample.map((effects) => effects[bit] ?? 0));
}

function replacement({ bytes, icrcAt }: IcrcSample, at: number, by: Uint8Array): number {
  const difference = by.map((byte, i) => byte ^ (bytes[at + i] ?? 0));
  return effectOf(CRC32, difference, at, icrcAt);
}

/** A masked field counts as ones: the original is the ones with those bits changed. */
function originalOf({ at, length }: Field, { masked }: IcrcSample, mask: Uint8Array): Uint8Array {
  return masked.slice(at, at + length).map((byte, i) => byte ^ (mask[i] ?? 0));
}

function bytesOf(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(bits.length / 8);
  for (const [bit, set] of bits.entries()) if (set) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return bytes;
}

function addressBytes(address: IpAddress): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  for (const [index, word] of [address.w0, address.w1, address.w2, address.w3].entries())
    view.setUint32(4 * index, word);
  return address.version === 4 ? bytes.slice(12) : bytes;
}

function described(fields: readonly Field[]): Pick<ChangedFields, 'fields' | 'translation'> {
  return { fields: fields.map(({ name }) => name), translation: fields.some(({ translated }) => translated) };
}

/** From the narrowest, which explains least by chance, to the widest. */
function fieldsOf({ ipVersion, bthAt }: IcrcSample): readonly Field[] {
  const udpAt = bthAt - 8;
  const ip: readonly Field[] =
    ipVersion === 4
      ? [
          { ...KEPT, name: 'traffic class (TOS), which is not masked,', at: 1, length: 1, print: hex },
          { ...KEPT, name: 'TTL, which is not masked,', at: 8, length: 1, print: decimal },
          { ...KEPT, name: 'IPv4 identification', varies: true, at: 4, length: 2, print: decimal },
          { ...KEPT, name: 'IPv4 flags and fragment offset', at: 6, length: 2, print: hex },
          { ...KEPT, name: 'IPv4 total length', varies: true, at: 2, length: 2, print: decimal },
        ]
      : [
          { ...KEPT, name: 'hop limit, which is not masked,', at: 7, length: 1, print: decimal },
          { ...KEPT, name: 'IPv6 payload length', varies: true, at: 4, length: 2, print: decimal },
        ];
  return [
    ...ip,
    sourcePortOf({ bthAt }),
    { ...KEPT, name: 'UDP destination port', translated: true, at: udpAt + 2, length: 2, print: decimal },
    { ...KEPT, name: 'UDP length', varies: true, at: udpAt + 4, length: 2, print: decimal },
    { ...KEPT, name: 'P_Key', at: bthAt + 2, length: 2, print: hex },
    { ...KEPT, name: 'flags and pad count of the BTH', at: bthAt + 1, length: 1, print: hex },
    { ...KEPT, name: 'AckReq byte of the BTH', at: bthAt + 8, length: 1, print: hex },
  ];
}

function sourcePortOf({ bthAt }: Pick<IcrcSample, 'bthAt'>): Field {
  return { ...KEPT, name: 'UDP source port', translated: true, at: bthAt - 8, length: 2, print: decimal };
}

function addressFields({ ipVersion }: IcrcSample): readonly Field[] {
  const length = ipVersion === 4 ? 4 : 16;
  const at = ipVersion === 4 ? 12 : 8;
  const print = (bytes: Uint8Array) => IpAddress.read(new DataView(bytes.buffer), 0, ipVersion).toString();
  return [
    { ...KEPT, name: 'source address', translated: true, at, length, print },
    { ...KEPT, name: 'destination address', translated: true, at: at + length, length, print },
  ];
}

function decimal(bytes: Uint8Array): string {
  return String(bytes.reduce((value, byte) => 256 * value + byte, 0));
}

function hex(bytes: Uint8Array): string {
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Packets of one flow have the same value, and address translation does not change it. */
const KEPT = { varies: false, translated: false } as const;
const SURE_BITS = 16;
const MOST_LENGTH_CHANGE = 64;
/** What a flip of the bit right before the ICRC does to it: the last byte's most significant bit is the last fed. */
const POLYNOMIAL_OF_LAST_BIT = CRC32;
