/**
 * The replies of a responder to READ, atomics, FLUSH and ATOMIC WRITE, first and again (ref:conformance#RD-01 to RD-09,
 * ATM-05, ATM-10, MPE-02).
 */
import { Op } from 'rocev2/packets';
import type { ExpectedReply, Past, ResponderSetup } from './responder-state.ts';

/** What the answer is made from. */
export interface Asked {
  /** PSN of the first response: of the request, or of the tail that is asked for. */
  readonly psn: number;
  /** Memory as it is now. */
  readonly memory: Uint8Array;
  /** Of a duplicate. */
  readonly again: boolean;
  /** Of a duplicate READ: offset in the region and bytes; default those of the request. */
  readonly part?: { readonly offset: number; readonly length: number };
  /** Default true. */
  readonly must?: boolean;
}

export function answersTo(setup: ResponderSetup, past: Past, asked: Asked): ExpectedReply[] {
  const { packet, msn, original } = past;
  const { psn, again, must = true } = asked;
  const common = { psn, msn, syndrome: 'positive', must, again } as const;
  if (packet.opcode === Op.ReadRequest) return responses(setup, past, asked);
  if (packet.atomic !== undefined)
    return [{ ...common, opcodes: [Op.AtomicAcknowledge], original, ruleId: again ? 'ATM-05' : 'ATM-10' }];
  const again7 = packet.opcode === Op.Flush ? 'MPE-07' : 'MPE-12';
  return [{ ...common, opcodes: [Op.ReadResponseOnly], data: NO_DATA, images: [], ruleId: again ? again7 : 'MPE-02' }];
}

function responses(setup: ResponderSetup, past: Past, asked: Asked): ExpectedReply[] {
  const { region, mtu, profile } = setup;
  const { va = 0n, length = 0 } = past.packet.reth ?? {};
  const part = asked.part ?? { offset: length === 0 ? 0 : Number(va - region.va), length };
  const count = Math.max(1, Math.ceil(part.length / mtu));
  const { again, memory, must = true } = asked;
  const ruleId = again ? (asked.psn === past.first ? 'RD-07' : 'RD-08') : part.length === 0 ? 'RD-04' : 'RD-01';
  const tail = asked.psn !== past.first && profile.switches.includes('read-tail-continues');
  return Array.from({ length: count }, (_, i) => ({
    opcodes: opcodesAt(i, count, tail),
    psn: asked.psn + i,
    msn: past.msn,
    syndrome: 'positive' as const,
    data: { offset: part.offset + i * mtu, length: Math.min(mtu, part.length - i * mtu) },
    images: [memory],
    ...{ must, again, ruleId },
  }));
}

/** RD-02, RD-09: a device of the profile says how its tails begin. */
function opcodesAt(i: number, count: number, tail: boolean): number[] {
  const last = i === count - 1;
  if (i === 0) {
    const begins = last ? Op.ReadResponseOnly : Op.ReadResponseFirst;
    return tail ? [begins, last ? Op.ReadResponseLast : Op.ReadResponseMiddle] : [begins];
  }
  return [last ? Op.ReadResponseLast : Op.ReadResponseMiddle];
}

const NO_DATA = { offset: 0, length: 0 };
