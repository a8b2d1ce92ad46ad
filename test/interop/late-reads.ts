/**
 * Finds in a capture of a target the one thing that a wire which brings frames twice does to rdma_rxe: a READ request
 * comes again when its key is invalid, and the queue pair goes to ERROR with a NAK (ref:nvmeof#4). Exactly that: the
 * READ was answered to its last byte and its key was invalidated by a response of ours, both before the NAK, which
 * names the PSN of the request.
 */
import { aethSyndrome, Syndrome } from '../../packets/aeth.ts';
import { BTH_BYTES } from '../../packets/bth.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { iethRkey } from '../../packets/ieth.ts';
import { Op } from '../../packets/opcode.ts';
import { psnAdd } from '../../packets/psn.ts';
import { rethDmaLength, rethRkey } from '../../packets/reth.ts';
import type { CapturedPacket } from '../../pcap/index.ts';

interface Read {
  readonly qpn: number;
  readonly rkey: number;
  /** Of its answer. */
  readonly packets: number;
  answered: boolean;
  invalidated: boolean;
}

/** NAKs of a capture that say remote access error, by the number of the frame; a PSN counts once. */
export interface AccessNaks {
  /** Those that such a READ request drew. */
  readonly late: readonly number[];
  /** All others. */
  readonly other: readonly number[];
}

/** Looks at every NAK with remote access error. */
export function accessNaks(packets: Iterable<Pick<CapturedPacket, 'number' | 'bytes'>>): AccessNaks {
  const frame = new Frame();
  const reads = new Map<number, Read>();
  const [late, other]: [number[], number[]] = [[], []];
  const refused = new Set<number>();
  for (const { number, bytes } of packets) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) continue;
    if (!isAccessNak(frame)) {
      keep(frame, reads);
    } else if (!refused.has(frame.psn)) {
      refused.add(frame.psn);
      const read = reads.get(frame.psn);
      (read?.answered === true && read.invalidated ? late : other).push(number);
    }
  }
  return { late, other };
}

function isAccessNak({ view, bthOffset, opcode }: Frame): boolean {
  return opcode === Op.Acknowledge && aethSyndrome(view, bthOffset + BTH_BYTES) === Syndrome.NakRemoteAccess;
}

/** What the frame says of READs. */
function keep({ view, bthOffset, opcode, psn, destQpn }: Frame, reads: Map<number, Read>): void {
  const at = bthOffset + BTH_BYTES;
  switch (opcode) {
    case Op.ReadRequest:
      if (!reads.has(psn))
        reads.set(psn, {
          qpn: destQpn,
          rkey: rethRkey(view, at),
          packets: Math.max(1, Math.ceil(rethDmaLength(view, at) / MTU)),
          answered: false,
          invalidated: false,
        });
      break;
    case Op.ReadResponseLast:
    case Op.ReadResponseOnly:
      for (const [first, read] of reads) if (psn === psnAdd(first, read.packets - 1)) read.answered = true;
      break;
    case Op.SendLastInvalidate:
    case Op.SendOnlyInvalidate:
      for (const read of reads.values())
        if (read.qpn === destQpn && read.rkey === iethRkey(view, at)) read.invalidated = true;
      break;
    default:
  }
}

/** Of guests whose Ethernet has 1,500 bytes. */
const MTU = 1024;
