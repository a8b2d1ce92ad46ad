/**
 * NAKs that end a connection, each with the request that it refuses.
 *
 * Owns the search for that request and the grouping: one finding for each pair of hosts. A NAK that several vantage
 * points show counts once. The detectors of the single syndromes explain what it means (ref:wire#7, ref:analyzer#1 rows
 * 5 to 7).
 */

import { OpFlag, opcodeInfo } from '../../../packets/opcode.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind, REQUEST_KINDS } from '../packet-kind.ts';
import type { ConversationReport } from '../types.ts';
import { type PastRequest, RequestMemory, requesterEndOf, responderEndOf, syndromeOf } from './request-memory.ts';

/** One such NAK. */
export interface FatalNak<D> {
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  readonly psn: number;
  readonly frame: number;
  /** What it refuses; undefined when the capture does not have it (any more). */
  readonly request: PastRequest | undefined;
  /** What was made of it in the moment in which it came. */
  readonly diagnosis: D;
}

/** What a diagnosis can be made from. */
export type Diagnose<D> = (refused: Omit<FatalNak<D>, 'diagnosis'>, memory: RequestMemory) => D;

export class FatalNakWatch<D> {
  readonly #syndrome: number;
  readonly #diagnose: Diagnose<D>;
  #facts: PacketFacts | undefined;
  #memory: RequestMemory | undefined;
  /** It fills the memory; the others that share it need not see requests. */
  #keepsMemory = true;
  readonly #naks: FatalNak<D>[] = [];
  #count = 0;

  constructor(syndrome: number, diagnose: Diagnose<D>) {
    this.#syndrome = syndrome;
    this.#diagnose = diagnose;
  }

  /** Kinds of packets that it needs. */
  get interest(): number {
    return this.#keepsMemory ? PacketKind.Other | REQUEST_KINDS : PacketKind.Other;
  }

  packet(facts: PacketFacts): void {
    const { role, marks, conversation } = facts;
    if (conversation === undefined) return;
    if (role === Role.Request) {
      if ((marks & Mark.BadIcrc) === 0) this.#memoryFor(facts).put(facts, conversation);
      return;
    }
    if ((marks & Mark.Nak) === 0 || (marks & (Mark.BadIcrc | Mark.Copy)) !== 0) return;
    if (syndromeOf(facts) === this.#syndrome) this.#refused(facts, conversation);
  }

  /** By pair of hosts, the requester first. */
  groups(): FatalNak<D>[][] {
    const groups = new Map<string, FatalNak<D>[]>();
    for (const nak of this.#naks) {
      const key = `${requesterEndOf(nak).address} ${responderEndOf(nak).address}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [nak]);
      else if (!group.some((other) => isSame(other, nak))) group.push(nak);
    }
    return [...groups.values()].slice(0, MOST_FINDINGS);
  }

  /** An analysis has one object for the facts of all packets, and one memory for all that look for NAKs. */
  #memoryFor(facts: PacketFacts): RequestMemory {
    if (this.#memory !== undefined && this.#facts === facts) return this.#memory;
    let memory = MEMORIES.get(facts);
    this.#keepsMemory = memory === undefined;
    if (memory === undefined) {
      memory = new RequestMemory();
      MEMORIES.set(facts, memory);
    }
    this.#facts = facts;
    this.#memory = memory;
    return memory;
  }

  /** The number of NAKs is not bounded; the first ones are reported. */
  #refused(facts: PacketFacts, conversation: ConversationReport): void {
    if (++this.#count > MOST_NAKS) return;
    const { requester, packet, dissection } = facts;
    const { psn } = dissection.frame;
    const memory = this.#memoryFor(facts);
    const request = memory.find(conversation, requester, psn);
    const refused = { conversation, requester, psn, frame: packet.number, request };
    this.#naks.push({ ...refused, diagnosis: this.#diagnose(refused, memory) });
  }
}

/** "a SEND", "a READ of 3000 bytes": a request in the terms of the verbs. */
export function describeRequest({ flags, opcode, dmaLength, payloadBytes }: PastRequest): string {
  if ((flags & OpFlag.Write) !== 0) return dmaLength > 0 ? `a WRITE of ${dmaLength} bytes` : 'a WRITE';
  if ((flags & OpFlag.Read) !== 0) return `a READ of ${dmaLength} bytes`;
  if ((flags & OpFlag.Atomic) !== 0) return 'an atomic';
  if ((flags & OpFlag.AtomicWrite) !== 0) return 'an ATOMIC WRITE';
  if ((flags & OpFlag.Flush) !== 0) return `a FLUSH of ${dmaLength} bytes`;
  if ((flags & OpFlag.Send) === 0) return opcodeInfo(opcode).name;
  return (flags & OpFlag.Only) !== 0 ? `a SEND of ${payloadBytes} bytes` : 'a SEND of several packets';
}

/**
 * The first packet of the message that a request belongs to, as far back as the memory goes; the request itself when it
 * begins one.
 */
export function beginningOf(request: PastRequest, memory: RequestMemory): PastRequest | undefined {
  let at: PastRequest | undefined = request;
  for (let steps = 0; at !== undefined && steps < MOST_STEPS; steps++) {
    if ((at.flags & (OpFlag.First | OpFlag.Only)) !== 0) return at;
    at = memory.find(at.conversation, at.requester, (at.psn - 1) & PSN_MASK);
  }
  return undefined;
}

/** "0x0000a1b2": a key as rdma tools print it. */
export function hex(value: number | bigint, digits = 8): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

/** The same NAK at another vantage point, or sent again. */
function isSame<D>(one: FatalNak<D>, other: FatalNak<D>): boolean {
  const group = ({ conversation: { id, sameAs } }: FatalNak<D>): number => (sameAs === 0 ? id : sameAs);
  return group(one) === group(other) && one.psn === other.psn;
}

const MEMORIES = new WeakMap<PacketFacts, RequestMemory>();
const MOST_NAKS = 256;
const MOST_STEPS = 16_384;
const MOST_FINDINGS = 50;
