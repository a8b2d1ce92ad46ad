/**
 * The messages between page and worker: requests with answers, and unrequested news.
 *
 * Owns the types. All of it is plain data that can be posted. Numbers of packets are Wireshark's, from 1.
 */

import type { MappedField, MappedHeader } from 'rocev2/packets';
import type { Analysis, CaptureInterface } from 'rocev2/pcap';
import type { Completion } from 'rocev2/pcap/filter';
import type { LimitTexts } from '../../analyze/limits-text.ts';
import type { LadderRow } from '../ladder/rows.ts';
import type { PlacedRow } from '../ladder/time-layout.ts';

/** A file, or where a server has it: an address of where the page comes from. */
export type FileContent = Blob | string;

/** The requests to the worker, by name: their arguments and their results. */
export interface Requests {
  /** Opens a file, which stays where it is. News of progress follow, and at the end the result of the whole. */
  open: { readonly params: { readonly name: string; readonly content: FileContent }; readonly result: null };
  /** Rows of the list, after the filter. */
  rows: {
    readonly params: { readonly from: number; readonly count: number; readonly sort?: RowSort };
    readonly result: RowWindow;
  };
  /**
   * Sets the filter; empty for none, and of all time where `toNs` is not above `fromNs`. Answers when all packets known
   * so far have been looked at.
   */
  filter: {
    readonly params: { readonly text: string; readonly fromNs?: number; readonly toNs?: number };
    readonly result: FilterResult;
  };
  /** One packet in full; null when there is none of this number. */
  packet: { readonly params: { readonly number: number }; readonly result: PacketDetail | null };
  /** Where a packet stands in the filtered list, or where it would: 0 based. */
  position: { readonly params: { readonly number: number; readonly sort?: RowSort }; readonly result: number };
  /** Lines of the ladder of a conversation. */
  ladder: {
    readonly params: LadderWish & { readonly from: number; readonly count: number };
    readonly result: LadderWindow;
  };
  /** The line of a packet in the ladder of a conversation, or of the next one that is in it. */
  ladderLine: { readonly params: LadderWish & { readonly number: number }; readonly result: number };
  /** A part of the ladder of a conversation true to time, `height` pixels from `top` on. */
  timeLadder: {
    readonly params: LadderWish & { readonly zoom: number; readonly top: number; readonly height: number };
    readonly result: TimeLadderWindow;
  };
  /** Where a packet, or the next one, stands in it: pixels. */
  timeLadderPlace: {
    readonly params: LadderWish & { readonly zoom: number; readonly number: number };
    readonly result: number;
  };
  /** The part of a ladder around packets, of the conversation of the first. */
  excerpt: { readonly params: { readonly numbers: readonly number[] }; readonly result: LadderExcerpt };
  /** PSNs over time, thinned to a picture of so many pixels; all time where `toNs` is not above `fromNs`. */
  sequence: {
    readonly params: {
      readonly conversation: number;
      readonly requester: 0 | 1;
      readonly fromNs: number;
      readonly toNs: number;
      readonly width: number;
      readonly height: number;
      /** Number of a packet that is not drawn together with others. */
      readonly selected?: number;
    };
    readonly result: SequencePicture;
  };
  /** The whole capture in equal pieces of time. */
  activity: { readonly params: { readonly bins: number }; readonly result: ActivityPicture };
  /** Sums over pieces of time, of one conversation or, with 0, of all. */
  rates: {
    readonly params: {
      readonly conversation: number;
      readonly fromNs: number;
      readonly toNs: number;
      readonly bins: number;
    };
    readonly result: RatePicture;
  };
  /** The filter of a field, by its index among all of the packet; empty where there is none. */
  fieldFilter: { readonly params: { readonly number: number; readonly field: number }; readonly result: string };
  /** A pcapng file of the packets of these numbers, or without them of those that are shown. */
  export: { readonly params: { readonly numbers?: readonly number[] }; readonly result: Blob };
  /** Completions at a place of a filter. */
  complete: {
    readonly params: { readonly text: string; readonly cursor: number };
    readonly result: readonly Completion[];
  };
}

/** Name of a request. */
export type RequestName = keyof Requests;

/** A request on its way to the worker. */
export type WorkerRequest = {
  readonly [Name in RequestName]: {
    readonly id: number;
    readonly name: Name;
    readonly params: Requests[Name]['params'];
  };
}[RequestName];

/** What comes back: an answer, a refusal as a sentence, or news. */
export type WorkerReply =
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly sentence: string }
  | { readonly kind: 'news'; readonly news: News };

/** State of the capture that is being read. */
export interface News {
  readonly name: string;
  readonly packets: number;
  readonly bytesRead: number;
  readonly bytes: number;
  /** All is read and analyzed. */
  readonly done: boolean;
  /** The fault of the file, or of the analysis; empty without one. What came before it is whole. */
  readonly problem: string;
  readonly interfaces: readonly CaptureInterface[];
  /** Seconds since 1970 of the first packet, with nine decimals. */
  readonly startTime: string;
  /** Packets that pass the filter. */
  readonly shown: number;
  /** With `done`, where there is one. */
  readonly analysis: Analysis | null;
  /** In words; with `analysis`. */
  readonly summary: Summary | null;
}

/** What is said above the findings, sentences. */
export interface Summary extends LimitTexts {
  /** "2 errors, 1 warning". */
  readonly verdict: string;
  /** What is known of the findings in general, by the id that they have. */
  readonly symptoms: readonly SymptomText[];
}

/** A symptom as docs/symptoms.md has it, or a rule. */
export interface SymptomText {
  readonly id: string;
  /** Of a symptom; empty for a rule. */
  readonly title: string;
  readonly complaint: string;
  readonly about: string;
  /** Of a rule; empty for a symptom. */
  readonly source: string;
}

/** What the list can be sorted by: the columns of its table of packets. */
export const SORT_COLUMNS = ['number', 'time', 'conversation', 'ends', 'length', 'psn', 'qp', 'marks', 'info'] as const;
/** One of them. */
export type SortColumn = (typeof SORT_COLUMNS)[number];

/** An order of the list. */
export interface RowSort {
  readonly column: SortColumn;
  readonly descending: boolean;
}

/** A window of the list. */
export interface RowWindow {
  readonly from: number;
  /** Rows of the whole list, after the filter. */
  readonly total: number;
  readonly rows: readonly PacketRow[];
}

/** One line of the list. */
export interface PacketRow {
  readonly number: number;
  readonly timeNs: number;
  /** Since the packet before in its conversation; NaN without one. */
  readonly deltaNs: number;
  /** "10.0.0.1 > 10.0.0.2"; may be empty. */
  readonly ends: string;
  readonly info: string;
  readonly length: number;
  readonly conversation: number;
  /** Bits of `Mark`. */
  readonly marks: number;
  readonly relativePsn: number;
  /** PSN of the wire and destination queue pair; -1 without a BTH. */
  readonly psn: number;
  readonly destQpn: number;
  readonly sender: 0 | 1;
  readonly opcode: number;
  /** The frame is malformed, or was cut. */
  readonly broken: boolean;
}

/** A part of a ladder. */
export interface LadderWindow {
  readonly from: number;
  /** Lines of the whole ladder. */
  readonly total: number;
  readonly rows: readonly LadderRow[];
  /** What counts as time 0. */
  readonly originNs: number;
}

/** A part of a ladder for a finding. */
export interface LadderExcerpt {
  /** 0: packets of no conversation. */
  readonly conversation: number;
  /** Addresses of the ends. */
  readonly left: string;
  readonly right: string;
  readonly rows: readonly LadderRow[];
}

/** Which ladder: a conversation, and the time of it; all of it where `toNs` is not above `fromNs`. */
export interface LadderWish {
  readonly conversation: number;
  readonly fromNs: number;
  readonly toNs: number;
}

/** A part of a ladder that is true to time. */
export interface TimeLadderWindow {
  /** First pixel of the part, and pixels of the whole ladder. */
  readonly top: number;
  readonly height: number;
  readonly rows: readonly PlacedRow[];
  /** Of so many lines that are not remarkable one is in `rows`; 1: all are. */
  readonly step: number;
  /** On the way between the capture and each end, at most; NaN: not known. */
  readonly transitNs: readonly [number, number];
  readonly pixelsPerNs: number;
}

/** Points of a PSN space, column by column, and the line of ACKs. */
export interface SequencePicture {
  readonly fromNs: number;
  readonly toNs: number;
  /** Relative PSNs. */
  readonly lowPsn: number;
  readonly highPsn: number;
  /** `PointKind`. */
  readonly kind: Uint8Array;
  readonly timeNs: Float64Array;
  readonly psn: Float64Array;
  /** PSNs that it takes. */
  readonly count: Float64Array;
  /** Numbers of packets, of the first where a point stands for several. */
  readonly number: Uint32Array;
  /** Packets that a point stands for; then `psn` and `count` are what they take together. */
  readonly merged: Uint32Array;
  /** First PSN that is not acknowledged, whenever that changes. */
  readonly ackTimeNs: Float64Array;
  readonly ackPsn: Float64Array;
  /** Packets behind the picture, those that share a spot included. */
  readonly packets: number;
}

/** The whole capture in equal pieces of time. */
export interface ActivityPicture {
  readonly fromNs: number;
  readonly toNs: number;
  /** Bytes on the wire in each piece. */
  readonly bytes: Float64Array;
  /** Packets with marks other than CE. */
  readonly remarkable: Float64Array;
}

/** Sums over pieces of time. */
export interface RatePicture {
  readonly fromNs: number;
  readonly toNs: number;
  readonly binNs: number;
  /** Middle of each piece. */
  readonly timeNs: Float64Array;
  /** By who sent it. */
  readonly sides: readonly [RateSide, RateSide];
  /** Of the device whose trace this is. */
  readonly traced: TracedRates | null;
}

/** What congestion control decided, whenever it did. */
export interface TracedRates {
  readonly timeNs: Float64Array;
  readonly rateBps: Float64Array;
  readonly targetBps: Float64Array;
  readonly alpha: Float64Array;
}

/** What one end sent. */
export interface RateSide {
  readonly goodputBps: Float64Array;
  readonly wireBps: Float64Array;
  readonly againBps: Float64Array;
  /** Numbers in each piece. */
  readonly ceMarks: Float64Array;
  readonly cnps: Float64Array;
}

/** The state of a filter. */
export interface FilterResult {
  readonly shown: number;
  /** Why the filter is invalid: a sentence, and where. All packets are shown then. */
  readonly fault: { readonly sentence: string; readonly column: number; readonly length: number } | null;
}

/** One packet in full. */
export interface PacketDetail {
  readonly row: PacketRow;
  readonly bytes: Uint8Array;
  readonly original: number;
  readonly headers: readonly MappedHeader[];
  readonly interfaceName: string;
  readonly comments: readonly string[];
  readonly refersTo: number;
  readonly missing: number;
  /** Sentences about its marks. */
  readonly remarks: readonly string[];
  /** Findings that name this packet, by index into those of the analysis. */
  readonly findings: readonly number[];
}

export type { Completion, MappedField, MappedHeader };
