/**
 * What can be said of a packet without its bytes: a subject for filters that need no packet.
 *
 * Owns what such filters may look at: the numbers that `set` takes, and nothing else. Whoever keeps these numbers of
 * each packet in a table can filter without reading the file again.
 */
import type { FrameStatus } from '../../packets/frame.ts';
import { AETH_AT, OPCODE_FLAGS } from '../../packets/opcode.ts';
import { Dissection, IcrcState } from '../dissection.ts';
import { type CapturedPacket, Direction, LinkType } from '../types.ts';
import type { FilterSubject } from './types.ts';

/** The numbers of one packet. */
export interface OutlineNumbers {
  /** From 1, as `CapturedPacket.number`. */
  readonly number: number;
  /** Bytes on the wire. */
  readonly originalLength: number;
  /** As in the capture. */
  readonly interfaceIndex: number;
  /** As in the capture. */
  readonly comments: readonly string[];
  /** Of the dissection. */
  readonly status: FrameStatus;
  /** Of the frame. */
  readonly ipVersion: 0 | 4 | 6;
  /** Of the frame. */
  readonly trafficClass: number;
  /** Of the BTH; -1 without one. */
  readonly opcode: number;
  /** Of the BTH. */
  readonly psn: number;
  /** Of the BTH. */
  readonly destQpn: number;
  /** Of the AETH; -1 without one. */
  readonly syndrome: number;
  /** Bytes, pad excluded. */
  readonly payloadLength: number;
  /** `Mark` bits of the analysis. */
  readonly marks: number;
  /** Of the analysis; NaN without one. */
  readonly relativePsn: number;
  /** Id of the conversation; 0 without one. */
  readonly conversation: number;
  /** Of the analysis. */
  readonly icrc: IcrcState;
}

/**
 * A packet of which only these numbers are known: to be given to a `PacketFilter` whose `needsPacket` is false. Made
 * once, filled again for each packet; allocates nothing.
 *
 * @example
 * ```ts
 * import { FrameStatus, Op } from 'rocev2/packets';
 * import { IcrcState } from 'rocev2/pcap';
 * import { compileFilter, PacketOutline } from 'rocev2/pcap/filter';
 *
 * const filter = compileFilter('psn > 100');
 * // As a table of packets has it, without the file.
 * const bth = { opcode: Op.SendOnly, psn: 101, destQpn: 0x11, syndrome: -1, payloadLength: 64 };
 * const frame = { number: 1, originalLength: 126, interfaceIndex: 0, comments: [], status: FrameStatus.Ok };
 * const ip = { ipVersion: 4, trafficClass: 0 } as const;
 * const analysis = { marks: 0, relativePsn: 1, conversation: 1, icrc: IcrcState.Good };
 * const outline = new PacketOutline();
 * outline.set({ ...frame, ...ip, ...bth, ...analysis });
 * console.log(filter.needsPacket, filter(outline)); // false true
 * ```
 */
export class PacketOutline implements FilterSubject {
  /** Without bytes. */
  readonly packet: CapturedPacket;
  /** As of a packet that the capture cut: what is not known of it is as in a fresh one. */
  readonly dissection: Dissection = new Dissection();
  /** What the analysis said. */
  readonly facts: FilterSubject['facts'];
  /** As in `FilterSubject`. */
  interfaceName: string | undefined = undefined;
  readonly #packet: { -readonly [Key in keyof CapturedPacket]: CapturedPacket[Key] } = {
    number: 0,
    seconds: 0,
    nanoseconds: 0,
    bytes: NO_BYTES,
    originalLength: 0,
    linkType: LinkType.Ethernet,
    interfaceIndex: 0,
    direction: Direction.Unknown,
    comments: [],
  };
  readonly #conversation = { id: 0 };
  readonly #facts = {
    marks: 0,
    relativePsn: Number.NaN,
    conversation: undefined as { readonly id: number } | undefined,
    icrc: IcrcState.Unknown as IcrcState,
  };

  /** Of no packet yet. */
  constructor() {
    this.packet = this.#packet;
    this.facts = this.#facts;
    this.dissection.cut = true;
    this.dissection.frame.view = new DataView(new ArrayBuffer(LONGEST_HEADERS));
  }

  /** Makes it the outline of another packet. `interfaceName` stays as it is. */
  set(numbers: OutlineNumbers): void {
    const { opcode, syndrome, conversation } = numbers;
    const { frame } = this.dissection;
    this.#packet.number = numbers.number;
    this.#packet.originalLength = numbers.originalLength;
    this.#packet.interfaceIndex = numbers.interfaceIndex;
    this.#packet.comments = numbers.comments;
    this.dissection.status = numbers.status;
    frame.ipVersion = numbers.ipVersion;
    frame.trafficClass = numbers.trafficClass;
    frame.bthOffset = opcode < 0 ? -1 : 0;
    frame.opcode = Math.max(0, opcode);
    frame.flags = opcode < 0 ? 0 : (OPCODE_FLAGS[opcode] ?? 0);
    frame.psn = numbers.psn;
    frame.destQpn = numbers.destQpn;
    frame.payloadLength = numbers.payloadLength;
    const aethAt = opcode < 0 || syndrome < 0 ? -1 : (AETH_AT[opcode] ?? -1);
    if (aethAt >= 0) frame.view.setUint8(aethAt, syndrome);
    this.#conversation.id = conversation;
    this.#facts.conversation = conversation > 0 ? this.#conversation : undefined;
    this.#facts.marks = numbers.marks;
    this.#facts.relativePsn = numbers.relativePsn;
    this.#facts.icrc = numbers.icrc;
  }
}

const NO_BYTES = new Uint8Array(0);
/** No AETH begins later in a packet, counted from the BTH. */
const LONGEST_HEADERS = 64;
