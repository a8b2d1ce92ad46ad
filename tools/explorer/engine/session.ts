/**
 * One open capture: its file, the table of its packets, the filter, and the results of the analysis.
 *
 * Owns reading in slices, so that requests are answered in between, and filtering in slices. Never throws, whatever the
 * bytes of the file: what is whole is kept, and `problem` says where it ends. Runs in the worker of the page; depends
 * on neither page nor worker.
 */
import { AETH_AT, FrameStatus, SYNDROME_KIND_MASK } from 'rocev2/packets';
import {
  type Analysis,
  type CapturedPacket,
  type CaptureInterface,
  Dissection,
  dissect,
  type PacketFacts,
} from 'rocev2/pcap';
import type { TraceEvent } from 'rocev2/trace';
import { withDrops } from '../../analyze/drops.ts';
import { type ByteSource, FileBytes } from './file-bytes.ts';
import { makeFilter, type TableFilter } from './filter.ts';
import { CaptureAnalysis, type MergedConversation } from './follow.ts';
import { NONE, NumberList, PacketTable } from './packet-table.ts';
import type { FilterResult } from './protocol.ts';
import { openSource, type PacketSource } from './source.ts';

/** An open capture. */
export class CaptureSession {
  readonly table = new PacketTable();
  /** Indices of the packets of a conversation, by its id. */
  readonly byConversation = new Map<number, NumberList>();
  /** The fault of the file; empty without one. */
  problem = '';
  /** When all has been read. */
  analysis: Analysis | null = null;
  /** All has been read. */
  done = false;
  /** Name of the file. */
  readonly name: string;
  readonly #file: FileBytes;
  #source: PacketSource | undefined;
  #follower: CaptureAnalysis | undefined = new CaptureAnalysis();
  readonly #dissection = new Dissection();
  readonly #comments = new Map<number, readonly string[]>();
  /** Packets whose bytes are not in the file, by index. */
  readonly #copies = new Map<number, Uint8Array>();
  #firstSeconds = 0;
  #firstNanoseconds = 0;
  #filter: TableFilter | undefined;
  /** The time that is shown; all of it without bounds. */
  #fromNs = Number.NEGATIVE_INFINITY;
  #toNs = Number.POSITIVE_INFINITY;
  #shown: NumberList | undefined;
  /** Packets that the filter has seen. */
  #filtered = 0;
  /** How often another filter, or the same anew, began: which packets are shown may be others after each. */
  filterings = 0;

  constructor(name: string, content: ByteSource) {
    this.name = name;
    this.#file = new FileBytes(content);
    this.#guard(() => {
      this.#source = openSource(this.#file);
    });
  }

  /** Bytes of the file, and how many of them are read. */
  get size(): number {
    return this.#file.size;
  }

  get bytesRead(): number {
    if (this.done) return this.size;
    const known = this.#source?.bytesRead;
    if (known !== undefined) return known;
    const last = this.table.length - 1;
    return last < 0 ? 0 : (this.table.offset[last] ?? 0) + (this.table.captured[last] ?? 0);
  }

  get interfaces(): readonly CaptureInterface[] {
    return this.#source?.interfaces ?? [];
  }

  /** Time of the first packet as `CaptureReport.startTime`. */
  get startTime(): string {
    return `${this.#firstSeconds}.${`${this.#firstNanoseconds}`.padStart(9, '0')}`;
  }

  /** Notes of a trace; times are those of the trace, of which the first packet has `firstNs`. */
  get notes(): readonly TraceEvent[] {
    return this.#source?.notes ?? [];
  }

  get firstNs(): number {
    return this.#firstSeconds * 1e9 + this.#firstNanoseconds;
  }

  /** Packets that pass the filter, of those it has seen. */
  get shown(): number {
    return this.#shown === undefined ? this.table.length : this.#shown.length;
  }

  /** The filter has seen all packets there are. */
  get filterIsDone(): boolean {
    return this.#shown === undefined || this.#filtered === this.table.length;
  }

  /** Reads up to `count` more packets, and lets the filter see as many; true while there is more to do. */
  work(count: number): boolean {
    if (!this.done) this.#guard(() => this.#read(count));
    const failed = this.#guard(() => this.#judge(count), false);
    // Then everything is shown, and the fault is reported.
    if (failed) this.setFilter('');
    return !this.done || !this.filterIsDone;
  }

  /** Sets the filter, of all time where `toNs` is not above `fromNs`; `work` applies it to the packets. */
  setFilter(text: string, fromNs = 0, toNs = 0): FilterResult['fault'] {
    this.#fromNs = toNs > fromNs ? fromNs : Number.NEGATIVE_INFINITY;
    this.#toNs = toNs > fromNs ? toNs : Number.POSITIVE_INFINITY;
    const { filter, fault } = makeFilter(text, (index) => this.interfaces[index]?.name);
    this.#filter = filter;
    this.#filterAnew();
    return fault;
  }

  /** Index of the packet in row `row` of the filtered list; undefined behind its end. */
  indexOfRow(row: number): number | undefined {
    return row < 0 || row >= this.shown ? undefined : (this.#shown?.at(row) ?? row);
  }

  /** Row in which the packet of an index stands, or the next one that is shown. */
  rowOfIndex(index: number): number {
    return this.#shown?.lowerBound(index) ?? index;
  }

  /**
   * The packet as the reader gave it; undefined when there is none. Throws where the file cannot be read any more.
   */
  packet(index: number): CapturedPacket | undefined {
    const { table } = this;
    if (!Number.isInteger(index) || index < 0 || index >= table.length) return undefined;
    const at = table.offset[index] ?? 0;
    const sinceSecond = this.#firstNanoseconds + (table.timeNs[index] ?? 0);
    const seconds = Math.floor(sinceSecond / 1e9);
    return {
      number: index + 1,
      seconds: this.#firstSeconds + seconds,
      nanoseconds: sinceSecond - seconds * 1e9,
      bytes: this.#copies.get(index) ?? this.#file.range(at, table.captured[index] ?? 0),
      originalLength: table.original[index] ?? 0,
      linkType: table.linkType[index] ?? 0,
      interfaceIndex: table.interfaceIndex[index] ?? 0,
      direction: directionOf(table.direction[index]),
      comments: this.#comments.get(index) ?? [],
    };
  }

  /** The packet dissected; the same object each time. */
  dissection(index: number): Dissection | undefined {
    const packet = this.packet(index);
    if (packet === undefined) return undefined;
    dissect(packet, this.#dissection);
    return this.#dissection;
  }

  /** Indices of the packets of a conversation, in order. */
  packetsOf(conversation: number): NumberList {
    return this.byConversation.get(conversation) ?? NO_PACKETS;
  }

  #read(count: number): void {
    for (let left = count; left > 0; left--) {
      const packet = this.#source?.next();
      if (packet === undefined) {
        this.#end();
        return;
      }
      this.#add(packet, this.#source?.packetOffset ?? -1);
    }
  }

  /** The file has ended, or what follows cannot be read. */
  #end(): void {
    if (this.done) return;
    this.done = true;
    this.#guard(() => {
      const follower = this.#follower;
      if (follower === undefined) return;
      this.analysis = withDrops(follower.finish(), this.interfaces);
      const settled = follower.settled();
      for (const one of settled) this.#settle(one);
      // What a filter said of conversations may have changed.
      if (settled.length > 0) this.#filterAnew();
    });
  }

  /** Gives the packets of a half to the conversation that it turned out to be a part of. */
  #settle({ from, to, crosswise }: MergedConversation): void {
    const { table } = this;
    const half = this.packetsOf(from);
    for (const index of half.values) {
      table.conversation[index] = to;
      if (!crosswise) continue;
      table.sender[index] = 1 - (table.sender[index] ?? 0);
      table.requester[index] = 1 - (table.requester[index] ?? 0);
    }
    this.byConversation.set(to, merged(this.packetsOf(to), half));
    this.byConversation.delete(from);
  }

  /** @param offset of its bytes in the file; -1: they are not in there */
  #add(packet: CapturedPacket, offset: number): void {
    const { table } = this;
    const index = table.add();
    if (index === 0) {
      this.#firstSeconds = packet.seconds;
      this.#firstNanoseconds = packet.nanoseconds;
    }
    if (offset < 0) this.#copies.set(index, packet.bytes);
    if (packet.comments.length > 0) this.#comments.set(index, packet.comments);
    table.offset[index] = Math.max(0, offset);
    table.captured[index] = packet.bytes.length;
    table.original[index] = packet.originalLength;
    table.linkType[index] = packet.linkType;
    table.interfaceIndex[index] = packet.interfaceIndex;
    table.direction[index] = packet.direction;
    table.opcode[index] = NONE;
    table.syndrome[index] = NONE;
    table.relativePsn[index] = Number.NaN;
    table.refersTo[index] = -1;
    const facts = this.#follow(packet);
    if (facts !== undefined) this.#note(index, facts);
  }

  /** A fault of the analysis is reported, and ends the analysis; the packets go on. */
  #follow(packet: CapturedPacket): PacketFacts | undefined {
    let facts: PacketFacts | undefined;
    const follower = this.#follower;
    if (follower === undefined) return undefined;
    const failed = this.#guard(() => {
      facts = follower.push(packet);
    }, false);
    if (failed) this.#follower = undefined;
    return facts;
  }

  #note(index: number, facts: PacketFacts): void {
    const { table } = this;
    const { frame, status } = facts.dissection;
    table.timeNs[index] = facts.timeNs;
    table.status[index] = status;
    table.icrc[index] = facts.icrc;
    table.ipVersion[index] = frame.ipVersion;
    table.trafficClass[index] = frame.trafficClass;
    if (frame.bthOffset >= 0) {
      table.opcode[index] = frame.opcode;
      table.psn[index] = frame.psn;
      table.destQpn[index] = frame.destQpn;
    }
    if (status === FrameStatus.Ok) {
      table.payload[index] = frame.payloadLength;
      const aeth = AETH_AT[frame.opcode] ?? -1;
      if (aeth >= 0) table.syndrome[index] = frame.view.getUint8(frame.bthOffset + aeth);
    }
    const id = facts.conversation?.id ?? 0;
    table.conversation[index] = id;
    table.sender[index] = facts.sender;
    table.requester[index] = facts.requester;
    table.role[index] = facts.role;
    table.relativePsn[index] = facts.relativePsn;
    table.psnCount[index] = facts.psnCount;
    table.marks[index] = facts.marks;
    table.missing[index] = facts.missing;
    table.refersTo[index] = facts.refersTo;
    if (id === 0) return;
    const reqFrame = facts.conversation?.cm?.reqFrame ?? 0;
    if (!this.byConversation.has(id) && reqFrame > 0 && reqFrame <= index) this.#adopt(reqFrame - 1, id);
    this.#listOf(id).push(index);
  }

  /** The REQ that a conversation began with belongs to it, which only the REP has told. */
  #adopt(index: number, conversation: number): void {
    const { table } = this;
    table.conversation[index] = conversation;
    table.sender[index] = 0;
    table.requester[index] = 0;
    this.#listOf(conversation).push(index);
  }

  #listOf(conversation: number): NumberList {
    let list = this.byConversation.get(conversation);
    if (list === undefined) {
      list = new NumberList();
      this.byConversation.set(conversation, list);
    }
    return list;
  }

  #filterAnew(): void {
    this.filterings++;
    this.#shown = this.#filter === undefined && this.#toNs === Number.POSITIVE_INFINITY ? undefined : new NumberList();
    this.#filtered = 0;
  }

  /** Lets the filter see up to `count` more packets: of many all that it asks is in the table. */
  #judge(count: number): void {
    const filter = this.#filter;
    if (this.#shown === undefined) return;
    // Where the analysis failed the table lacks what came after.
    const byTable = filter === undefined || (!filter.needsPacket && this.#follower !== undefined);
    const end = Math.min(this.table.length, this.#filtered + (byTable ? count * OUTLINES_PER_PACKET : count));
    for (let index = this.#filtered; index < end; index++) {
      const timeNs = this.table.timeNs[index] ?? 0;
      const inTime = timeNs >= this.#fromNs && timeNs <= this.#toNs;
      const passes =
        !inTime || filter === undefined
          ? inTime
          : byTable
            ? filter.passesOutline(this.table, index, this.#comments.get(index) ?? NO_COMMENTS)
            : this.#passesItself(filter, index);
      if (passes) this.#shown.push(index);
      this.#filtered = index + 1;
    }
  }

  #passesItself(filter: TableFilter, index: number): boolean {
    const packet = this.packet(index);
    if (packet === undefined) return false;
    dissect(packet, this.#dissection);
    return filter.passes(packet, this.#dissection, this.table);
  }

  /**
   * Runs a part that reads foreign bytes: an exception is reported, and ends the reading unless `ends` is false. True
   * when it threw.
   */
  #guard(part: () => void, ends = true): boolean {
    try {
      part();
      return false;
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error);
      if (this.problem === '') this.problem = sentence;
      if (ends) this.#end();
      return true;
    }
  }
}

/** Whether a syndrome is a positive ACK; the top three bits are 0. */
export function isAck(syndrome: number): boolean {
  return (syndrome & SYNDROME_KIND_MASK) === 0;
}

function directionOf(value: number | undefined): CapturedPacket['direction'] {
  return value === 1 || value === 2 ? value : 0;
}

/** Two lists that are in order, in order. */
function merged(one: NumberList, two: NumberList): NumberList {
  const list = new NumberList();
  for (let a = 0, b = 0; a < one.length || b < two.length; ) {
    const first = b >= two.length || (a < one.length && one.at(a) < two.at(b));
    list.push(first ? one.at(a++) : two.at(b++));
  }
  return list;
}

const NO_PACKETS = new NumberList();
const NO_COMMENTS: readonly string[] = [];
/** What the table has of a packet is looked at in a fraction of the time that the packet takes. */
const OUTLINES_PER_PACKET = 8;
