/**
 * Turns frames into ladder steps. Frames must come in the order of sending: the reader remembers PSNs, to count them
 * from the first one and to recognize retransmissions.
 *
 * Owns that memory, one entry for each queue pair that sends requests. Keeps no frame and draws nothing. Accepts any
 * bytes.
 * Rules: ref:wire#7 (a response carries the PSN of the request that it answers).
 */

import {
  AETH_AT,
  aethMsn,
  aethSyndrome,
  Frame,
  FrameStatus,
  formatAeth,
  formatFrame,
  Medium,
  OpFlag,
  opcodeInfo,
  parseFrame,
  psnDiff,
  RETH_AT,
  rethDmaLength,
  SERVICE_MASK,
  Service,
  SYNDROME_KIND_MASK,
  SyndromeKind,
} from 'rocev2/packets';
import { GSI_QPN, parseCmMad } from 'rocev2/packets/management';
import { type LadderStep, StepMark } from './step.ts';

export interface LadderReaderOptions {
  /** What the frames of `read` begin with; default Ethernet. */
  readonly medium?: Medium;
  /** The marks of `read` say what was sent before: an analysis knows better than PSNs alone. Default false. */
  readonly marked?: boolean;
}

/** What is known of a frame beside its bytes. */
export interface LadderFrameInfo {
  readonly timeNs: number;
  readonly fromLeft: boolean;
  /** What the wire is known to have done: bits of `StepMark`. */
  readonly marks: number;
}

/** A frame as its sender sent it. Bytes are read during the call only. */
export interface LadderFrame extends LadderFrameInfo {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

/** PSNs of one requester, counted from the first seen. */
interface RequesterPsns {
  readonly first: number;
  /** Behind the highest PSN that a request or an answer carried. */
  next: number;
  /** Behind the highest PSN that a READ response or ATOMIC ACKNOWLEDGE carried. */
  nextAnswer: number;
}

export class LadderReader {
  readonly #medium: Medium;
  readonly #marked: boolean;
  readonly #own = new Frame();
  #frame = this.#own;
  readonly #spaces: readonly [left: Map<number, RequesterPsns>, right: Map<number, RequesterPsns>] = [
    new Map(),
    new Map(),
  ];

  constructor(options: LadderReaderOptions = {}) {
    this.#medium = options.medium ?? Medium.Ethernet;
    this.#marked = options.marked ?? false;
  }

  read(seen: LadderFrame): LadderStep {
    const { bytes, view, start, end } = seen;
    return this.readFrame(this.#own, parseFrame(bytes, view, start, end, this.#medium, this.#own), seen);
  }

  /** The same for a frame that is parsed already. */
  readFrame(frame: Frame, status: FrameStatus, seen: LadderFrameInfo): LadderStep {
    this.#frame = frame;
    const { timeNs, fromLeft, marks } = seen;
    if (status !== FrameStatus.Ok) {
      return { timeNs, fromLeft, label: withoutAddresses(frame, status), psn: undefined, detail: '', marks };
    }
    const plain = { timeNs, fromLeft, marks };
    if (frame.destQpn === GSI_QPN) return { ...plain, label: managementLabel(frame), psn: undefined, detail: '' };
    const label = labelOf(frame);
    const detail = detailOf(frame);
    if ((frame.opcode & SERVICE_MASK) !== Service.Rc) return { ...plain, label, psn: undefined, detail };
    return (frame.flags & OpFlag.Response) === 0
      ? this.#request({ ...plain, label, detail, psn: undefined })
      : this.#answer({ ...plain, label, detail, psn: undefined });
  }

  #request(step: LadderStep): LadderStep {
    const spaces = this.#spaces[step.fromLeft ? 0 : 1];
    const { destQpn, psn } = this.#frame;
    let space = spaces.get(destQpn);
    if (space === undefined) {
      space = { first: psn, next: 0, nextAnswer: 0 };
      spaces.set(destQpn, space);
    }
    const relative = relativePsn(psn, space);
    const again = !this.#marked && relative < space.next;
    space.next = Math.max(space.next, relative + 1);
    return { ...step, psn: relative, marks: step.marks | (again ? StepMark.Retransmit : 0) };
  }

  #answer(step: LadderStep): LadderStep {
    const frame = this.#frame;
    const space = this.#spaceAnswered(step.fromLeft, frame.psn);
    if (space === undefined) return step;
    const relative = relativePsn(frame.psn, space);
    let { marks } = step;
    if ((frame.flags & OpFlag.Ack) === 0) {
      if (!this.#marked && relative < space.nextAnswer) marks |= StepMark.Retransmit;
      space.nextAnswer = Math.max(space.nextAnswer, relative + 1);
      space.next = Math.max(space.next, relative + 1);
    } else if (syndromeKind(frame) !== SyndromeKind.Ack) marks |= StepMark.Nak;
    return { ...step, psn: relative, marks };
  }

  /**
   * The requester at the other end whose PSNs are nearest: a response does not carry the number of its own queue pair.
   */
  #spaceAnswered(fromLeft: boolean, psn: number): RequesterPsns | undefined {
    let nearest: RequesterPsns | undefined;
    let shortest = Infinity;
    for (const space of this.#spaces[fromLeft ? 1 : 0].values()) {
      const distance = Math.abs(relativePsn(psn, space) - space.next);
      if (distance >= shortest) continue;
      nearest = space;
      shortest = distance;
    }
    return nearest;
  }
}

/** Counted from the first PSN of the space and beyond 2^24: the one nearest to what comes next. */
function relativePsn(psn: number, space: RequesterPsns): number {
  return space.next + psnDiff(psn, (space.first + space.next) % PSN_COUNT);
}

function labelOf(frame: Frame): string {
  if ((frame.flags & OpFlag.Ack) !== 0) {
    const at = frame.bthOffset + (AETH_AT[frame.opcode] ?? 0);
    return formatAeth(aethSyndrome(frame.view, at), aethMsn(frame.view, at)).replace(/ msn \d+$/, '');
  }
  const { name } = opcodeInfo(frame.opcode);
  return NICKNAMES.get(name) ?? name.replace(/^RC (RDMA )?/, '').replace(' with Immediate', ' +imm');
}

function detailOf(frame: Frame): string {
  const { flags, view, payloadLength } = frame;
  if ((flags & OpFlag.Read) !== 0)
    return `requests ${rethDmaLength(view, frame.bthOffset + (RETH_AT[frame.opcode] ?? 0))} B`;
  return (flags & OpFlag.Payload) === 0 ? '' : `${payloadLength} B`;
}

function syndromeKind(frame: Frame): number {
  return aethSyndrome(frame.view, frame.bthOffset + (AETH_AT[frame.opcode] ?? 0)) & SYNDROME_KIND_MASK;
}

function managementLabel(frame: Frame): string {
  const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  if (typeof mad !== 'object') return 'management datagram';
  const { kind } = mad.message;
  return `CM ${kind}${CM_WORDS[kind] ?? ''}`;
}

function withoutAddresses(frame: Frame, status: FrameStatus): string {
  return formatFrame(frame, status, true).replace(/^\S+ > \S+: /, '');
}

const PSN_COUNT = 0x1_00_00_00;

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['RC CmpSwap', 'COMPARE & SWAP'],
  ['RC FetchAdd', 'FETCH & ADD'],
  ['RC ATOMIC Acknowledge', 'ATOMIC ACK'],
]);

const CM_WORDS: Readonly<Record<string, string>> = {
  REQ: ' (connect?)',
  REP: ' (yes)',
  RTU: ' (ready)',
  REJ: ' (no)',
  DREQ: ' (disconnect)',
  DREP: ' (disconnected)',
};
