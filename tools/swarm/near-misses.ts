/**
 * Packets that are right but for one thing. Near misses must be dropped, so the run is judged as if they had not been
 * sent. Violations are refused at the right PSN, which may end their queue pair. Either aims at memory that must never
 * change, or asks for a READ of a length that nothing else has. Owns what is wrong in each.
 */
import type { IpAddress } from 'rocev2';
import { Op } from 'rocev2/packets';
import * as kit from 'rocev2/packets/kit';
import { type CmMessage, CmRejReason, GSI_QKEY } from 'rocev2/packets/management';
import type { Prng } from 'rocev2/sim';
import type { MemoryArea, Traps } from './flow.ts';
import { falseRep, madOf, requestMad } from './mads.ts';
import { MISSES, type Miss, pick, VIOLATIONS, type Violation } from './scenario.ts';

/** Payload of the last response of a READ that must not be answered; honest hosts and other acts send no such one. */
export const FORBIDDEN_BYTES = 23;

/** What a sniffer knows of the flow that is aimed at. */
export interface Aim {
  /** The queue pair, and the one it hears. */
  readonly qpn: number;
  readonly peerQpn: number;
  /** The PSN that its responder expects; the newest PSN of its own requests. */
  readonly expected: number;
  readonly requested: number | undefined;
  readonly uc: boolean;
  readonly mtu: number;
  /** Addresses of the queue pair's host, of its peer and of the attacker. */
  readonly victim: IpAddress;
  readonly peer: IpAddress;
  readonly own: IpAddress;
  /** GUID of the peer's host. */
  readonly peerGuid: bigint;
  /** Communication ids of victim and peer, once they have been on the wire. */
  readonly ids: { readonly victim: number; readonly peer: number } | undefined;
  /** Communication id of the victim, while it calls. */
  readonly call: number | undefined;
  /** Memory of the victim; undefined for the end that only sends. */
  readonly traps: Traps | undefined;
}

export type Shot = Miss | Violation;

const isMiss = (shot: string): shot is Miss => MISSES.some((known) => known === shot);
export const isShot = (shot: string): shot is Shot => isMiss(shot) || VIOLATIONS.some((known) => known === shot);

/** The packet, with its source address where that is not the peer's; undefined where it makes no sense at this aim. */
export function shoot(shot: Shot, aim: Aim, random: Prng): kit.Packet | undefined {
  return isMiss(shot) ? miss(shot, aim, random) : violation(shot, aim, random);
}

function miss(shot: Miss, aim: Aim, random: Prng): kit.Packet | undefined {
  const source = `${aim.own}`;
  switch (shot) {
    case 'answer-address': {
      if (aim.uc || aim.requested === undefined) return undefined;
      const answer = kit.nak(pick(random, [0x1f, 0x60, 0x61, 0x62, 0x63]), { psn: aim.requested, msn: 1 });
      return { ...answer, source };
    }
    case 'cm-address': {
      const message = aim.call === undefined ? ending(aim, aim.ids?.peer, random) : falseRep(random, aim.call);
      return message && { ...mad(madOf(message)), source };
    }
    case 'cm-id': {
      const message = ending(aim, random.u32(), random);
      return message && mad(madOf(message));
    }
    case 'cm-first': {
      const claim = { caGuid: aim.peerGuid, qpn: aim.peerQpn };
      return { ...mad(requestMad(random, aim.own, aim.victim, claim)), source };
    }
    default:
      return aim.traps && missedWrite(shot, aim, aim.traps.granted, random);
  }
}

/** A WRITE that would be executed, but for one thing. */
function missedWrite(
  shot: Exclude<Miss, `cm-${string}` | 'answer-address'>,
  aim: Aim,
  granted: MemoryArea,
  random: Prng,
): kit.Packet | undefined {
  const write = writeTo(granted.va, granted.rkey, aim);
  switch (shot) {
    case 'address':
      return { ...write, source: `${aim.own}` };
    case 'pkey':
      return { ...write, pkey: pick(random, [0xff_fe, 0x7f_fe, 0x80_01, 0]) };
    case 'service':
      return aim.uc ? { ...write, opcode: Op.WriteOnly } : kit.uc(write);
    case 'icrc':
      return { ...write, spoil: spoilIcrc };
    default: {
      // UC takes a message of any PSN.
      if (aim.uc) return undefined;
      const away = BESIDE + random.below(random.chance(0.5) ? 1000 : 2 ** 23 - 2 * BESIDE);
      return { ...write, psn: shot === 'old-psn' ? aim.expected - away : aim.expected + away };
    }
  }
}

function violation(shot: Violation, aim: Aim, random: Prng): kit.Packet | undefined {
  const { traps } = aim;
  if (traps === undefined) return undefined;
  const { writable, readable, granted, secret, foreign } = traps;
  switch (shot) {
    case 'beyond': {
      if (!aim.uc && random.chance(0.5))
        return readOf(readable.va + BigInt(readable.length - longRead(aim) + 1), readable, aim);
      return writeTo(writable.va + BigInt(writable.length - FORBIDDEN_BYTES + 1), writable.rkey, aim);
    }
    case 'before':
      if (!aim.uc && random.chance(0.5)) return readOf(readable.va - 1n, readable, aim);
      return writeTo(writable.va - 1n, writable.rkey, aim);
    case 'no-right': {
      if (aim.uc || random.chance(0.5)) return writeTo(readable.va, readable.rkey, aim);
      const { va, rkey } = granted;
      return kit.fetchAdd({ psn: aim.expected, va, rkey, add: 1n });
    }
    case 'secret':
      return aim.uc ? undefined : readOf(secret.va, secret, aim);
    case 'key':
      return writeTo(granted.va, (granted.rkey ^ (1 + random.below(255))) >>> 0, aim);
    case 'domain':
      return writeTo(foreign.va, foreign.rkey, aim);
    case 'length':
      return writeTo(granted.va, granted.rkey, aim, 1 + random.below(FORBIDDEN_BYTES - 1));
  }
}

/** A message with the right ids that would end the connection; undefined before the ids are known. */
function ending(aim: Aim, localCommId: number | undefined, random: Prng): CmMessage | undefined {
  if (aim.ids === undefined || localCommId === undefined) return undefined;
  const privateData = new Uint8Array(0);
  const ids = { localCommId, remoteCommId: aim.ids.victim, privateData };
  if (random.chance(0.6)) return { kind: 'DREQ', body: { ...ids, remoteQpn: aim.qpn } };
  const refusal = { messageRejected: 1, infoLength: 0, reason: CmRejReason.Timeout, info: privateData } as const;
  return { kind: 'REJ', body: { ...ids, ...refusal } };
}

function writeTo(va: bigint, rkey: number, { uc, expected: psn }: Aim, length = FORBIDDEN_BYTES): kit.Packet {
  const payload = new Uint8Array(FORBIDDEN_BYTES).fill(0xee);
  const write = kit.writeOnly({ psn, payload, ackReq: true, reth: { va: BigInt.asUintN(64, va), rkey, length } });
  return uc ? kit.uc(write) : write;
}

function readOf(va: bigint, { rkey }: MemoryArea, aim: Aim): kit.Packet {
  return kit.readRequest({ psn: aim.expected, reth: { va: BigInt.asUintN(64, va), rkey, length: longRead(aim) } });
}

const longRead = ({ mtu }: Aim): number => mtu + FORBIDDEN_BYTES;

const mad = (payload: Uint8Array): kit.Packet => ({
  ...kit.datagram({ psn: 0, payload, qkey: GSI_QKEY, srcQpn: 1 }),
  destQpn: 1,
});

function spoilIcrc({ bytes, icrc }: kit.Draft): undefined {
  bytes[icrc] = (bytes[icrc] ?? 0) ^ 1;
}

/** Farther than all that honest hosts have under way. */
const BESIDE = 200;
