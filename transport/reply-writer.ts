/**
 * Puts a responder's replies into packets: ACKNOWLEDGE (ACK, NAK, RNR NAK), ATOMIC ACKNOWLEDGE and the packets of a
 * READ response, of which FLUSH and ATOMIC WRITE get one without data (ref:conformance#MPE-02). A READ that is
 * resumed from its middle starts with FIRST or ONLY like any other (ref:conformance#RD-09).
 */

import { AETH_BYTES, Syndrome, writeAeth } from '../packets/aeth.ts';
import { writeAtomicAckEth } from '../packets/atomic-ack-eth.ts';
import { BTH_BYTES, writeBth, writeBthCongestion } from '../packets/bth.ts';
import { invariant } from '../packets/errors.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { ATOMIC_ACK_ETH_AT, OPCODE_HEADER_BYTES, Op } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { QpConfig } from './qp-config.ts';
import { type Reply, ReplyKind, type ReplyQueue } from './reply-queue.ts';

/** What became of a reply's next packet; after `Fault` there is none, as the memory is not there any more. */
export const ReplyStep = { More: 0, Last: 1, Fault: 2 } as const;
export type ReplyStep = (typeof ReplyStep)[keyof typeof ReplyStep];

/** Writes the next packet of `reply`. */
export function writeReply(reply: Reply, replies: ReplyQueue, config: QpConfig, writer: FrameWriter): ReplyStep {
  return reply.kind === ReplyKind.Read
    ? writeReadResponse(reply, replies, config, writer)
    : writeAcknowledge(reply, replies, config, writer);
}

function writeAcknowledge(reply: Reply, replies: ReplyQueue, config: QpConfig, writer: FrameWriter): ReplyStep {
  invariant(config.path !== undefined, 'a queue pair that replies has a path');
  const opcode = acknowledgeOpcode(reply.kind) | config.service;
  const { template } = config.path;
  const bth = writer.begin(template);
  writeBth(writer.view, bth, opcode, 0, config.migReq, 0, config.pkey, config.destQpn, 0, reply.psn & PSN_MASK);
  writeAeth(writer.view, bth + BTH_BYTES, syndromeOf(reply, replies), reply.msn);
  if (replies.becnOwed) {
    replies.becnOwed = false;
    writeBthCongestion(writer.view, bth, 0, 1);
  }
  if (reply.kind === ReplyKind.Atomic) {
    writeAtomicAckEth(writer.view, bth + (ATOMIC_ACK_ETH_AT[opcode] as number), reply.originalHi, reply.originalLo);
  }
  writer.end(template, bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] as number));
  return ReplyStep.Last;
}

/** A positive ACK says how many receives there are when it leaves, not when it was owed. */
function syndromeOf(reply: Reply, replies: ReplyQueue): number {
  return reply.syndrome === Syndrome.Ack ? replies.ackSyndrome : reply.syndrome;
}

function acknowledgeOpcode(kind: ReplyKind): number {
  if (kind === ReplyKind.Atomic) return Op.AtomicAcknowledge;
  return kind === ReplyKind.Empty ? Op.ReadResponseOnly : Op.Acknowledge;
}

function writeReadResponse(reply: Reply, replies: ReplyQueue, config: QpConfig, writer: FrameWriter): ReplyStep {
  invariant(config.path !== undefined, 'a queue pair that replies has a path');
  const { template } = config.path;
  const left = reply.length - reply.sent;
  const size = Math.min(left, config.mtu);
  const last = left <= config.mtu;
  const opcode = readResponseOpcode(reply.sent === 0, last);
  const pad = -size & 3;
  const psn = reply.psn + reply.sent / config.mtu;
  const bth = writer.begin(template);
  writeBth(
    writer.view,
    bth,
    opcode | config.service,
    0,
    config.migReq,
    pad,
    config.pkey,
    config.destQpn,
    0,
    psn & PSN_MASK,
  );
  let at = bth + BTH_BYTES;
  if (opcode !== Op.ReadResponseMiddle) {
    writeAeth(writer.view, at, syndromeOf(reply, replies), reply.msn);
    at += AETH_BYTES;
  }
  const { grant } = reply;
  if (grant !== undefined && !grant.copyOut(reply.offset + reply.sent, writer.bytes, at, size, left))
    return ReplyStep.Fault;
  for (let i = 0; i < pad; i++) writer.bytes[at + size + i] = 0;
  writer.end(template, at + size + pad);
  reply.sent += size;
  return last ? ReplyStep.Last : ReplyStep.More;
}

function readResponseOpcode(first: boolean, last: boolean): number {
  if (last) return first ? Op.ReadResponseOnly : Op.ReadResponseLast;
  return first ? Op.ReadResponseFirst : Op.ReadResponseMiddle;
}
