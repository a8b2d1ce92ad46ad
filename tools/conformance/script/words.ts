/**
 * The words of a ladder: names of opcodes, of fields, of durations. One table says how each field of a packet is read
 * and written, so that what is printed can be read again.
 */
import { Op, SERVICE_MASK, Service, Syndrome } from 'rocev2/packets';
import { pattern } from 'rocev2/packets/kit';
import type { ScriptPacket } from './steps.ts';

const SERVICES: readonly (readonly [string, number])[] = [
  ['uc-', Service.Uc],
  ['xrc-', Service.Xrc],
];

const kebab = (name: string): string => name.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

const NAMES: ReadonlyMap<string, number> = new Map(Object.entries(Op).map(([name, opcode]) => [kebab(name), opcode]));

/** The opcode of a name, `send-only`, `uc-write-first`, or of a number; undefined for a word that is none. */
export function opcodeOf(word: string): number | undefined {
  if (/^0x[0-9a-f]{1,2}$/.test(word)) return Number(word);
  const named = NAMES.get(word);
  if (named !== undefined) return named;
  for (const [prefix, service] of SERVICES) {
    const base = word.startsWith(prefix) ? NAMES.get(word.slice(prefix.length)) : undefined;
    if (base !== undefined && (base & SERVICE_MASK) === 0) return base | service;
  }
  return undefined;
}

/** Its name, or its number in hexadecimal digits. */
export function nameOf(opcode: number): string {
  const exact = [...NAMES].find(([, value]) => value === opcode);
  if (exact !== undefined) return exact[0];
  const [prefix] = SERVICES.find(([, service]) => (opcode & SERVICE_MASK) === service) ?? [];
  const base = [...NAMES].find(([, value]) => value === (opcode & ~SERVICE_MASK));
  return prefix !== undefined && base !== undefined ? prefix + base[0] : hex(opcode);
}

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

/** `250us`, `10ms`, `1.5s` in nanoseconds; undefined for anything else. */
export function durationOf(word: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ns|us|ms|s)$/.exec(word);
  return match === null ? undefined : Math.round(Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN));
}

export function printDuration(ns: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, one]) => ns >= one) ?? ['ns', 1];
  return `${ns / size}${unit}`;
}

const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** Fields whose value is one number, by the word they have: how they are found in a packet, and put in. */
export const NUMBERS: readonly { readonly word: string; readonly max: number; readonly field: NumberField }[] = [
  { word: 'psn', max: 0xff_ff_ff, field: 'psn' },
  { word: 'msn', max: 0xff_ff_ff, field: 'msn' },
  { word: 'imm', max: 0xff_ff_ff_ff, field: 'imm' },
  { word: 'inv', max: 0xff_ff_ff_ff, field: 'inv' },
  { word: 'qkey', max: 0xff_ff_ff_ff, field: 'qkey' },
  { word: 'src-qpn', max: 0xff_ff_ff, field: 'srcQpn' },
  { word: 'srqn', max: 0xff_ff_ff, field: 'srqn' },
  { word: 'pad', max: 3, field: 'pad' },
  { word: 'pkey', max: 0xff_ff, field: 'pkey' },
  { word: 'tver', max: 15, field: 'tver' },
  { word: 'dest-qpn', max: 0xff_ff_ff, field: 'destQpn' },
  { word: 'source-port', max: 0xff_ff, field: 'sourcePort' },
  { word: 'traffic-class', max: 0xff, field: 'trafficClass' },
  { word: 'hop-limit', max: 0xff, field: 'hopLimit' },
  { word: 'reserved6', max: 0x3f, field: 'reserved6' },
  { word: 'reserved7', max: 0x7f, field: 'reserved7' },
  { word: 'cut', max: 0xff_ff, field: 'cut' },
  { word: 'udp-length', max: 0xff_ff, field: 'udpLength' },
  { word: 'ip-options', max: 40, field: 'ipOptions' },
];

export type NumberField =
  | 'psn'
  | 'msn'
  | 'imm'
  | 'inv'
  | 'qkey'
  | 'srcQpn'
  | 'srqn'
  | 'pad'
  | 'pkey'
  | 'tver'
  | 'destQpn'
  | 'sourcePort'
  | 'trafficClass'
  | 'hopLimit'
  | 'reserved6'
  | 'reserved7'
  | 'cut'
  | 'udpLength'
  | 'ipOptions';

/** Fields that are there or not. */
export const FLAGS: readonly { readonly word: string; readonly set: Partial<ScriptPacket> }[] = [
  { word: 'ackreq', set: { ackReq: true } },
  { word: 'solicited', set: { solicited: true } },
  { word: 'becn', set: { becn: 1 } },
  { word: 'fecn', set: { fecn: 1 } },
  { word: 'migreq0', set: { migReq: 0 } },
  { word: 'bad-icrc', set: { badIcrc: true } },
  { word: 'rxe-icrc', set: { rxeIcrc: true } },
];

/**
 * `payload 64` is the pattern of the tester, `64/3` that of seed 3, `hex:00ff` these bytes. Undefined for anything
 * else.
 */
export function payloadOf(word: string): Uint8Array | undefined {
  const sized = /^(\d{1,4})(?:\/(\d{1,6}))?$/.exec(word);
  if (sized !== null) return pattern(Number(sized[1]), Number(sized[2] ?? 1));
  const digits = /^hex:((?:[0-9a-f]{2})*)$/i.exec(word)?.[1];
  if (digits === undefined) return undefined;
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/** The shortest word that `payloadOf` reads as these bytes. */
export function printPayload(bytes: Uint8Array): string {
  for (let seed = 1; seed < 16; seed++) {
    if (bytes.length > 0 && pattern(bytes.length, seed).every((byte, i) => byte === bytes[i]))
      return seed === 1 ? String(bytes.length) : `${bytes.length}/${seed}`;
  }
  return `hex:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** `ack`, `nak 0x61`, `rnr 12`: an ACKNOWLEDGE by its syndrome. */
export function syndromeWords(syndrome: number): string {
  if (syndrome < Syndrome.RnrNak) return 'ack';
  return syndrome < 0x40 ? `rnr ${syndrome & 0x1f}` : `nak ${hex(syndrome)}`;
}
