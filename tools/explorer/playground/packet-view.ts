/**
 * A packet in words: what a ladder, a list and a detail view show of it. Owns the wording; parses what it is given.
 */
import {
  AETH_AT,
  aethMsn,
  aethSyndrome,
  type FieldValue,
  Frame,
  FrameStatus,
  formatAeth,
  formatFrame,
  frameFields,
  hexNumber,
  icrcMatches,
  isMarked,
  Medium,
  Op,
  OpFlag,
  opcodeInfo,
  parseFrame,
  SYNDROME_KIND_MASK,
  SyndromeKind,
} from 'rocev2/packets';
import { type CmMad, cmRejReasonName, GSI_QPN, parseCmMad } from 'rocev2/packets/management';
import type { Flight } from './flight.ts';

/** What a ladder shows of one packet. */
export interface PacketSummary {
  readonly serial: number;
  readonly from: number;
  readonly to: number;
  /** Its number among those that `from` sends. */
  readonly packet: number;
  readonly sentNs: number;
  /** Infinity while it waits in a queue. */
  readonly arrivesNs: number;
  readonly state: Flight['state'];
  readonly lossReason: Flight['lossReason'];
  /** Serial number of the original; 0: it is no copy. */
  readonly copyOf: number;
  /** "SEND Only", "RDMA WRITE First", "Acknowledge"; "not RoCE". */
  readonly name: string;
  readonly opcode: number;
  readonly destQpn: number;
  /** -1: a packet without one. */
  readonly psn: number;
  /** "NAK PSN sequence error msn 0"; "1024 bytes". May be empty. */
  readonly detail: string;
  readonly kind: 'request' | 'answer' | 'ack' | 'nak' | 'rnr-nak' | 'cnp' | 'other';
  /** Its sender sent this request before. */
  readonly again: boolean;
  readonly ackReq: boolean;
  /** Marked Congestion Experienced on its way. */
  readonly marked: boolean;
  /** What is to be done to it, or was done. */
  readonly fate: readonly string[];
}

/** Everything about one packet. */
export interface PacketDetails {
  /** One line in the manner of tcpdump. */
  readonly line: string;
  /** Fields by the names of tshark. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly bytes: Uint8Array;
  readonly icrcOk: boolean;
}

/** Reads packets, and remembers which PSNs were sent, so that it knows a repetition. */
export class PacketReader {
  readonly #seen = new Set<string>();
  readonly #again = new Set<number>();
  /** Of packets that nothing more happens to. */
  readonly #final = new Map<number, PacketSummary>();
  readonly #contents = new Map<number, PacketContent>();

  /** Called once for each packet, when it is sent. */
  sent(flight: Flight): void {
    const frame = parse(flight.bytes);
    if (frame === undefined || (frame.flags & OpFlag.Response) !== 0 || frame.opcode === Op.Cnp) return;
    const mad = cmOf(frame);
    // A message that is repeated has another PSN, but is of the same transaction.
    const of = mad === undefined ? frame.psn : `${mad.message.kind} ${mad.header.transactionId}`;
    const key = `${flight.from} ${frame.destQpn} ${of}`;
    if (this.#seen.has(key)) this.#again.add(flight.serial);
    this.#seen.add(key);
  }

  /** The packet as it was sent, and what has become of it. */
  summary(flight: Flight): PacketSummary {
    const known = this.#final.get(flight.serial);
    if (known !== undefined) return known;
    const summary = this.#summarize(flight);
    if (flight.state !== 'flying') this.#final.set(flight.serial, summary);
    return summary;
  }

  #summarize(flight: Flight): PacketSummary {
    const { serial, from, to, packet, sentNs, arrivesNs, state, lossReason, copyOf, marked } = flight;
    return {
      ...{ serial, from, to, packet, sentNs, arrivesNs, state, lossReason, copyOf, marked },
      ...{ fate: flight.fate.map(({ action }) => action), again: this.#again.has(serial) },
      ...this.#content(flight),
    };
  }

  /** What never changes: read once. */
  #content({ serial, bytes }: Flight): PacketContent {
    const known = this.#contents.get(serial);
    if (known !== undefined) return known;
    const content = contentOf(parse(bytes), bytes);
    this.#contents.set(serial, content);
    return content;
  }
}

type PacketContent = Pick<PacketSummary, 'name' | 'opcode' | 'destQpn' | 'psn' | 'detail' | 'kind' | 'ackReq'>;

function contentOf(frame: Frame | undefined, bytes: Uint8Array): PacketContent {
  if (frame === undefined) return isIgmp(bytes) ? IGMP : NO_ROCE;
  const { opcode, destQpn, psn } = frame;
  const mad = cmOf(frame);
  if (mad !== undefined)
    return { ...NO_ROCE, opcode, destQpn, name: `CM ${mad.message.kind}`, detail: cmDetailOf(mad) };
  return {
    ...{ opcode, destQpn, psn: opcode === Op.Cnp ? -1 : psn, name: opcodeInfo(opcode).name },
    ...{ detail: detailOf(frame), kind: kindOf(frame), ackReq: frame.ackReq === 1 },
  };
}

/** A packet in full, as it was sent or as it arrived. */
export function packetDetails(bytes: Uint8Array): PacketDetails {
  const frame = new Frame();
  const status = parseFrame(
    bytes,
    new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    0,
    bytes.length,
    Medium.Ethernet,
    frame,
  );
  const icrcOk = status === FrameStatus.Ok && icrcMatches(frame);
  return { line: formatFrame(frame, status, icrcOk), fields: frameFields(frame, status, icrcOk), bytes, icrcOk };
}

/** IPv4 whose protocol is IGMP. */
function isIgmp(bytes: Uint8Array): boolean {
  return bytes[12] === 0x08 && bytes[13] === 0x00 && bytes[23] === 2;
}

function parse(bytes: Uint8Array): Frame | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, PARSED) === FrameStatus.Ok ? PARSED : undefined;
}

/** The message of the connection manager in a datagram to queue pair 1. */
function cmOf({ opcode, destQpn, view, payloadOffset, payloadLength }: Frame): CmMad | undefined {
  if (opcode !== Op.UdSendOnly || destQpn !== GSI_QPN) return undefined;
  const mad = parseCmMad(view, payloadOffset, payloadLength);
  return typeof mad === 'number' ? undefined : mad;
}

/** What the other side learns from it. */
function cmDetailOf({ message: { kind, body } }: CmMad): string {
  if (kind === 'REQ' || kind === 'REP') return `QP ${hexNumber(body.localQpn, 6)}, begin with PSN ${body.startingPsn}`;
  return kind === 'REJ' ? cmRejReasonName(body.reason) : '';
}

function kindOf(frame: Frame): PacketSummary['kind'] {
  if (frame.opcode === Op.Cnp) return 'cnp';
  if ((frame.flags & OpFlag.Response) === 0) return 'request';
  if ((frame.flags & OpFlag.Ack) === 0) return 'answer';
  const kind = aethSyndrome(frame.view, frame.bthOffset + (AETH_AT[frame.opcode] ?? 0)) & SYNDROME_KIND_MASK;
  if (kind === SyndromeKind.RnrNak) return 'rnr-nak';
  return kind === SyndromeKind.Nak ? 'nak' : 'ack';
}

function detailOf(frame: Frame): string {
  const words: string[] = [];
  const aeth = AETH_AT[frame.opcode] ?? -1;
  if (aeth >= 0) {
    const at = frame.bthOffset + aeth;
    words.push(formatAeth(aethSyndrome(frame.view, at), aethMsn(frame.view, at)));
  }
  if (frame.payloadLength > 0) words.push(`${frame.payloadLength} bytes`);
  if (isMarked(frame.trafficClass)) words.push('CE');
  return words.join(', ');
}

const NO_ROCE = {
  opcode: -1,
  destQpn: 0,
  psn: -1,
  name: 'not RoCE',
  detail: '',
  kind: 'other',
  ackReq: false,
} as const;
const IGMP = { ...NO_ROCE, name: 'IGMP report', detail: 'membership of a multicast group' } as const;
/** Filled and read within one call. */
const PARSED = new Frame();
