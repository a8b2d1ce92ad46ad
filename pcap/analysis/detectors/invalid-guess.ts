/**
 * Which rule a request broke that was answered with the NAK "invalid request": what the capture proves, or the
 * likeliest cause that it cannot show.
 *
 * Owns the reasoning, in the order of certainty: first what the packet and those before it prove (order of opcodes,
 * lengths, alignment), then what only the responder knows (access rights of the queue pair, READ resources, size of a
 * receive). Rules: ref:wire#5, ref:wire#8, ref:rxe#7.
 */

import { OpFlag, opcodeInfo } from '../../../packets/opcode.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import { beginningOf } from './fatal-nak.ts';
import { type PastRequest, type RequestMemory, requesterEndOf, responderEndOf } from './request-memory.ts';

/** A guess. */
export interface InvalidGuess {
  readonly rule:
    | 'opcode-order'
    | 'path-mtu'
    | 'padding'
    | 'write-length'
    | 'atomic-alignment'
    | 'too-many-reads'
    | 'not-permitted'
    | 'not-supported'
    | 'receive-too-small';
  /** The packets prove it. */
  readonly certain: boolean;
  /** A sentence without its end. */
  readonly text: string;
  readonly advice: string;
}

export function guessInvalid(request: PastRequest, memory: RequestMemory): InvalidGuess {
  return (
    wrongOrder(request, memory) ??
    wrongPacketLength(request) ??
    wrongMessageLength(request, memory) ??
    unaligned(request) ??
    tooManyReads(request) ??
    onlyTheResponderKnows(request, memory)
  );
}

function wrongOrder(request: PastRequest, memory: RequestMemory): InvalidGuess | undefined {
  const before = memory.find(request.conversation, request.requester, (request.psn - 1) & PSN_MASK);
  if (before === undefined) return undefined;
  const open = (before.flags & (OpFlag.First | OpFlag.Middle)) !== 0;
  const continues = (request.flags & (OpFlag.Middle | OpFlag.Last)) !== 0;
  const sameKind = ((before.flags ^ request.flags) & (OpFlag.Send | OpFlag.Write)) === 0;
  if (open === continues && (!open || sameKind)) return undefined;
  const [now, earlier] = [request, before].map(({ opcode }) => opcodeInfo(opcode).name);
  return {
    rule: 'opcode-order',
    certain: true,
    text: `${now} follows ${earlier} (frame ${before.frame}), ${open ? 'whose message is not finished' : 'with no message open'}`,
    advice:
      'The requester breaks the order of opcodes: First, Middle, Last of one message, or Only. Look at the stack that sends.',
  };
}

function wrongPacketLength(request: PastRequest): InvalidGuess | undefined {
  const { flags, payloadBytes, padCount, conversation } = request;
  if (((payloadBytes + padCount) & 3) !== 0) {
    return {
      rule: 'padding',
      certain: true,
      text: `${payloadBytes} bytes of payload with pad count ${padCount} are not whole words`,
      advice: 'Payload and pad together are a multiple of four bytes. Look at the stack that sends.',
    };
  }
  const agreed =
    responderEndOf(request).pathMtu > 0 ? responderEndOf(request).pathMtu : (conversation.cm?.pathMtu ?? 0);
  const full = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
  if (agreed === 0 || (full ? payloadBytes === agreed : payloadBytes <= agreed)) return undefined;
  return {
    rule: 'path-mtu',
    certain: true,
    text: `it carries ${payloadBytes} bytes, and the path MTU of the other end is ${agreed}`,
    advice: 'Give both queue pairs the same path MTU.',
  };
}

function wrongMessageLength(request: PastRequest, memory: RequestMemory): InvalidGuess | undefined {
  if ((request.flags & OpFlag.Write) === 0) return undefined;
  const first = beginningOf(request, memory);
  if (first === undefined) return undefined;
  let bytes = 0;
  for (let psn = first.psn; ; psn = (psn + 1) & PSN_MASK) {
    bytes += memory.find(request.conversation, request.requester, psn)?.payloadBytes ?? 0;
    if (psn === request.psn) break;
  }
  const ends = (request.flags & (OpFlag.Last | OpFlag.Only)) !== 0;
  if (ends ? bytes === first.dmaLength : bytes < first.dmaLength) return undefined;
  return {
    rule: 'write-length',
    certain: true,
    text: `the packets of the WRITE carry ${bytes} bytes, and its RETH (frame ${first.frame}) says ${first.dmaLength}`,
    advice: 'The requester sends another number of bytes than it announced. Look at the stack that sends.',
  };
}

function unaligned({ flags, va }: PastRequest): InvalidGuess | undefined {
  if ((flags & (OpFlag.Atomic | OpFlag.AtomicWrite)) === 0 || va % 8n === 0n) return undefined;
  return {
    rule: 'atomic-alignment',
    certain: true,
    text: `the atomic is at 0x${va.toString(16)}, which is not a multiple of eight`,
    advice: 'Align the target of atomics to eight bytes.',
  };
}

function tooManyReads(request: PastRequest): InvalidGuess | undefined {
  const { flags, conversation } = request;
  const most = requesterEndOf(request).requester.mostOutstandingReads;
  const allowed = conversation.cm?.responderResources ?? 0;
  if ((flags & ANSWERED) === 0 || allowed === 0 || most <= allowed) return undefined;
  return {
    rule: 'too-many-reads',
    certain: true,
    text: `${most} READs and atomics were outstanding, and ${allowed} were agreed on`,
    advice: 'Give the requester a max_rd_atomic that is not larger than the max_dest_rd_atomic of the responder.',
  };
}

function onlyTheResponderKnows(request: PastRequest, memory: RequestMemory): InvalidGuess {
  const { flags } = request;
  if ((flags & (OpFlag.Flush | OpFlag.AtomicWrite)) !== 0) {
    return {
      rule: 'not-supported',
      certain: false,
      text: 'the responder may not support this operation, which is newer than most hardware, or not allow it',
      advice:
        'Query the capabilities of the device, and give the queue pair the access flags that the operation needs.',
    };
  }
  if ((flags & OpFlag.Send) !== 0) {
    const bytes = messageBytes(request, memory);
    return {
      rule: 'receive-too-small',
      certain: false,
      text: `${bytes === 0 ? 'the message' : `a message of ${bytes} bytes or more`} is probably longer than the receive that it fell into`,
      advice: 'Post receives as long as the longest message that the peer may send.',
    };
  }
  const operation = (flags & OpFlag.Write) !== 0 ? 'WRITEs' : (flags & OpFlag.Read) !== 0 ? 'READs' : 'atomics';
  const outstanding = requesterEndOf(request).requester.mostOutstandingReads;
  const resources =
    (flags & ANSWERED) === 0 || outstanding < 2
      ? ''
      : `, or answers fewer READs and atomics at a time than the ${outstanding} that were outstanding`;
  return {
    rule: 'not-permitted',
    certain: false,
    text: `the queue pair of the responder probably does not allow ${operation} (qp_access_flags)${resources}`,
    advice: `Allow ${operation} in the access flags of the responder's queue pair, and give it resources for them (max_dest_rd_atomic).`,
  };
}

function messageBytes(request: PastRequest, memory: RequestMemory): number {
  const first = beginningOf(request, memory);
  if (first === undefined) return request.payloadBytes;
  let bytes = 0;
  for (let psn = first.psn, packets = 0; packets < MOST_PACKETS; psn = (psn + 1) & PSN_MASK, packets++) {
    const packet = memory.find(request.conversation, request.requester, psn);
    if (packet === undefined) break;
    bytes += packet.payloadBytes;
    if ((packet.flags & (OpFlag.Last | OpFlag.Only)) !== 0) break;
  }
  return bytes;
}

const ANSWERED = OpFlag.Read | OpFlag.Atomic | OpFlag.AtomicWrite | OpFlag.Flush;
const MOST_PACKETS = 16_384;
