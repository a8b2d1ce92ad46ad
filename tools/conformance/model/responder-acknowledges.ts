/**
 * Plain ACKs: a device may send one for each request, one for many, and the newest again at any time (ACK-02, ACK-03,
 * ACK-13, RSP-PSN-12). Owns which of them make sense (ACK-05..ACK-07, RSP-PSN-08, RSP-PSN-11, RD-13) and what they
 * settle.
 */
import { Op } from 'rocev2/packets';
import { describePacket, type Packet } from 'rocev2/packets/kit';
import type { ModelDifference } from './difference.ts';
import type { Profile } from './profiles.ts';
import { describeExpected } from './responder-match.ts';
import type { ExpectedReply, ResponderState } from './responder-state.ts';

/** A reply that has still to come, or may. */
export interface Pending extends ExpectedReply {
  /** PSN of the request that drew it. */
  readonly request: number;
  /** What was expected next when it was owed. */
  readonly at: number;
}

/** One way that the device may have taken. */
export interface Hypothesis {
  readonly state: ResponderState;
  /** In the order in which they are to come. */
  readonly pending: readonly Pending[];
  /** Requests that have to be acknowledged, by themselves or by something later. */
  readonly owed: readonly { readonly psn: number; readonly ruleId: string }[];
  /** PSN of the newest ACK; -1 before the first. */
  readonly newestAck: number;
}

export const isPlainAck = ({ opcode, syndrome = 0xff }: Packet): boolean =>
  opcode === Op.Acknowledge && syndrome < 0x20;

/** The hypothesis after this ACK; or why the ACK breaks a rule. */
export function acknowledged(way: Hypothesis, packet: Packet, profile: Profile): Hypothesis | ModelDifference {
  const { psn } = packet;
  const ruleId = brokenRule(way, packet);
  // An ACK of a packet that was never sent settles nothing.
  const odd = profile.switches.includes('first-ack-from-zero') && way.newestAck < 0;
  if (ruleId !== undefined && odd && (packet.msn ?? 0) <= way.state.msn) return way;
  const blocker = way.pending.find((item) => item.must && blocks(item, psn));
  if (blocker !== undefined) {
    const refusal = typeof blocker.syndrome === 'number';
    const sentence = `${describeExpected(blocker)} was expected first, and ${describePacket(packet)} came`;
    return { ruleId: refusal ? blocker.ruleId : 'RD-13', sentence };
  }
  if (ruleId !== undefined)
    return { ruleId, sentence: `${describePacket(packet)} came, and ${explanation(way, ruleId)}` };
  const pending = way.pending.filter((item) => item.must || !blocks(item, psn));
  return { ...way, pending, owed: way.owed.filter((debt) => debt.psn > psn), newestAck: Math.max(psn, -1) };
}

/**
 * Responses to what came before the acknowledged packet precede its ACK; a refused packet gets none.
 */
function blocks(item: Pending, psn: number): boolean {
  return item.again ? item.at <= psn : item.psn <= psn;
}

function brokenRule({ state, newestAck }: Hypothesis, { psn, msn = -1 }: Packet): string | undefined {
  if (psn >= state.expected) return 'RSP-PSN-08';
  const past = state.past.find(({ first, last }) => psn >= first && psn <= last);
  // Before anything was executed there is nothing to name but the packet before the first.
  if (past === undefined) return psn === -1 && newestAck < 0 && msn <= state.msn ? undefined : 'RSP-PSN-11';
  if (past.packet.opcode === Op.ReadRequest) return 'RSP-PSN-11';
  if (psn < newestAck) return 'ACK-05';
  return msn >= past.msn && msn <= state.msn ? undefined : 'ACK-06';
}

function explanation({ state, newestAck }: Hypothesis, ruleId: string): string {
  if (ruleId === 'RSP-PSN-08') return `psn+${state.expected} has not been executed`;
  if (ruleId === 'RSP-PSN-11') return 'no SEND, WRITE or atomic was executed there';
  if (ruleId === 'ACK-05') return `psn+${newestAck} had been acknowledged before`;
  return `${state.msn} messages are complete`;
}
