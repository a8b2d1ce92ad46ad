/**
 * What an answer proves to a requester (ref:conformance#REQ-03 to REQ-17, REQ-32, ACK-13, ACK-16, ACK-17, C.2), for one
 * that holds all PSNs before `bound` for acknowledged. Written as a function: what is acknowledged then, and what the
 * answer makes of the requester.
 */
import { Op } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import type { Profile } from './profiles.ts';
import { isAnswered, type Placed } from './requester-work.ts';

/** What the requester has sent. */
export interface OpenWork {
  readonly profile: Profile;
  readonly works: readonly Placed[];
  /** Newest PSN that was asked for, responses of a READ included; -1 before the first. */
  readonly newest: number;
}

export interface Evidence {
  /** All PSNs before it are acknowledged. */
  readonly bound: number;
  /** Packets go out again, from this PSN or an earlier one. */
  readonly again?: { readonly from: number; readonly must: boolean; readonly ruleId: string };
  /** An RNR NAK: its timer code. */
  readonly rnr?: number;
  /** The work request fails with this status of verbs; `must` is false where the device may do otherwise. */
  readonly fails?: { readonly index: number; readonly status: number; readonly must: boolean };
}

/** What `packet` proves. */
export function evidenceOf(open: OpenWork, bound: number, packet: Packet): Evidence {
  const { psn, opcode, syndrome = 0xff } = packet;
  const { newest, works, profile } = open;
  if (isAstray(open, bound, packet)) return { bound: newest + 1, fails: { index: -1, status: -1, must: false } };
  if (psn < bound) return { bound };
  if (psn > newest) {
    const believes = isPlain(packet) && profile.switches.includes('ack-beyond-completes');
    return { bound: believes ? stop(works, bound, newest + 1) : bound };
  }
  if (opcode !== Op.Acknowledge) return dataEvidence(works, bound, packet);
  if (syndrome < 0x20) return plain(open, bound, psn);
  if (syndrome < 0x40) return { ...refused(works, bound, psn, 'REQ-15'), rnr: syndrome & 0x1f };
  if (syndrome === 0x60) return refused(works, bound, psn, 'REQ-15');
  const fatal = STATUS_OF_NAK[syndrome];
  if (fatal !== undefined) return fatalEvidence(works, bound, psn, fatal);
  const name = syndrome < 0x60 ? 'reserved-syndrome-fatal' : 'reserved-nak-fatal';
  if (!profile.switches.includes(name)) return { bound };
  // Whatever it fails with, success included.
  return {
    bound: syndrome < 0x60 ? newest + 1 : stop(works, bound, psn),
    fails: { index: -1, status: -1, must: false },
  };
}

/** A device that any ACK between the responses of a READ breaks: what it does next cannot be predicted. */
function isAstray({ profile, works }: OpenWork, bound: number, { opcode }: Packet): boolean {
  if (opcode !== Op.Acknowledge || !profile.switches.includes('ack-in-read-fatal')) return false;
  return works.some(({ kind, first, last }) => kind === 'read' && bound > first && bound <= last);
}

/** The oldest READ or atomic that is not complete. */
const oldestAnswered = (works: readonly Placed[], bound: number): Placed | undefined =>
  works.find((work) => isAnswered(work) && work.last >= bound);

/** As far as an ACK of all before `psn` goes: a READ or atomic that is not complete stands in its way. */
function stop(works: readonly Placed[], bound: number, psn: number): number {
  const barrier = oldestAnswered(works, bound);
  return barrier === undefined || barrier.first >= psn ? Math.max(bound, psn) : Math.max(bound, barrier.first);
}

function plain({ works, profile }: OpenWork, bound: number, psn: number): Evidence {
  const barrier = oldestAnswered(works, bound);
  if (barrier === undefined || barrier.first > psn) return { bound: Math.max(bound, psn + 1) };
  const from = Math.max(bound, barrier.first);
  if (psn > barrier.last) return { bound: from, again: { from, must: false, ruleId: 'REQ-11' } };
  // Inside of an open READ, or of the atomic itself: no answer to it (REQ-13). What came before it may count as
  // acknowledged.
  const completes = psn === barrier.last && profile.switches.includes('ack-in-read-completes');
  return { bound: completes ? psn + 1 : from, again: { from, must: false, ruleId: 'REQ-13' } };
}

/**
 * NAK 0x60 and RNR NAK acknowledge what is before them (REQ-16, RNR-14) but READs and atomics, which they refuse
 * (REQ-17).
 */
function refused(works: readonly Placed[], bound: number, psn: number, ruleId: string): Evidence {
  const from = stop(works, bound, psn);
  return { bound: from, again: { from, must: true, ruleId } };
}

function fatalEvidence(works: readonly Placed[], bound: number, psn: number, status: number): Evidence {
  const work = works.find(({ first, last }) => psn >= first && psn <= last);
  const barrier = oldestAnswered(works, bound);
  if (work === undefined) return { bound };
  // Behind data that is still due it may be taken for an implied NAK (REQ-17), or at its word.
  if (barrier !== undefined && Math.max(bound, barrier.first) < psn) {
    const from = Math.max(bound, barrier.first);
    return {
      bound: from,
      again: { from, must: false, ruleId: 'REQ-17' },
      fails: { index: -1, status: -1, must: false },
    };
  }
  return { bound: Math.max(bound, work.first), fails: { index: work.index, status, must: true } };
}

/** READ responses and atomic ACKs. */
function dataEvidence(works: readonly Placed[], bound: number, { psn, opcode }: Packet): Evidence {
  const work = works.find(({ first, last }) => psn >= first && psn <= last);
  const atomic = work?.kind === 'fetch-add' || work?.kind === 'compare-swap';
  const fits = work !== undefined && isAnswered(work) && atomic === (opcode === Op.AtomicAcknowledge);
  if (!fits) return { bound, fails: { index: -1, status: -1, must: false } };
  const barrier = oldestAnswered(works, bound) ?? work;
  const from = Math.max(bound, barrier.first);
  // A gap, in this READ or before it (REQ-11, REQ-14).
  if (barrier !== work || psn > from) return { bound: from, again: { from, must: false, ruleId: 'REQ-14' } };
  return { bound: psn + 1 };
}

const isPlain = ({ opcode, syndrome = 0xff }: Packet): boolean => opcode === Op.Acknowledge && syndrome < 0x20;

/** REQ-18: IBV_WC_REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR. */
const STATUS_OF_NAK: Readonly<Record<number, number>> = { 97: 9, 98: 10, 99: 11 };
