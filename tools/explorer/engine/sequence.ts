/**
 * PSNs over time, in the manner of tcptrace: every request and answer of one PSN space, as many as a picture can tell
 * apart.
 *
 * Owns what is drawn where and what is drawn together: packets of a kind that fall on the same spot of the picture are
 * one point, which says how many they are. Draws nothing.
 */
import { OpFlag, opcodeInfo } from 'rocev2/packets';
import { Mark } from 'rocev2/pcap';
import { goneBefore } from './gone.ts';
import { NONE } from './packet-table.ts';
import type { Requests, SequencePicture } from './protocol.ts';
import { type CaptureSession, isAck } from './session.ts';

/** What a point of the picture is. */
export const PointKind = {
  /** A request, sent for the first time. */
  Request: 0,
  /** A request, sent again. */
  RequestAgain: 1,
  /** A READ response or an atomic's answer. */
  Response: 2,
  /** The same, sent again. */
  ResponseAgain: 3,
  Ack: 4,
  Nak: 5,
  RnrNak: 6,
  /** Packets that never came past. */
  Lost: 7,
} as const;

/** The picture of one PSN space between two times; the whole space where `toNs` is not above `fromNs`. */
export function sequencePicture(session: CaptureSession, params: Requests['sequence']['params']): SequencePicture {
  const space = new Space(session, params.conversation, params.requester);
  const range = space.range(params.fromNs, params.toNs);
  const columns = Math.max(1, Math.min(MOST_PIXELS, Math.floor(params.width)));
  const lines = Math.max(1, Math.min(MOST_PIXELS, Math.floor(params.height)));
  const spots = new Map<number, number>();
  const points = new Points();
  const ack: [timeNs: number, psn: number][] = [];
  let ackColumn = -1;
  const across = columns / Math.max(1, range.toNs - range.fromNs);
  const up = lines / Math.max(1, range.highPsn - range.lowPsn);
  space.each(range.fromNs, range.toNs, (index, kind, timeNs, psn, count) => {
    const column = Math.min(columns - 1, Math.floor((timeNs - range.fromNs) * across));
    if (kind === PointKind.Ack || kind === PointKind.Nak || kind === PointKind.RnrNak) {
      const last = ack.at(-1);
      // A NAK acknowledges what is before it, an ACK its own PSN too.
      const reached = kind === PointKind.Ack ? psn + 1 : psn;
      if (last !== undefined && ackColumn === column) last[1] = Math.max(last[1], reached);
      else ack.push([timeNs, Math.max(last?.[1] ?? reached, reached)]);
      ackColumn = column;
    }
    const line = Math.min(lines - 1, Math.max(0, Math.floor((psn - range.lowPsn) * up)));
    const [wide, high] = SPOTS[kind] ?? [1, 1];
    const place = Math.floor(column / wide);
    const spot = (place * lines + Math.floor(line / high)) * KINDS + kind;
    const known = index + 1 === params.selected ? undefined : spots.get(spot);
    if (known !== undefined) points.merge(known, psn, count);
    else {
      const point = points.add(kind, timeNs, psn, count, index + 1);
      // The chosen packet stays by itself.
      if (index + 1 !== params.selected) spots.set(spot, point);
    }
  });
  return {
    ...range,
    ...points.arrays(),
    ackTimeNs: Float64Array.from(ack, ([timeNs]) => timeNs),
    ackPsn: Float64Array.from(ack, ([, psn]) => psn),
    packets: space.packets,
  };
}

interface Range {
  readonly fromNs: number;
  readonly toNs: number;
  readonly lowPsn: number;
  readonly highPsn: number;
}

/** The packets of one PSN space. */
class Space {
  /** Packets that were seen by the last `each`. */
  packets = 0;
  readonly #session: CaptureSession;
  readonly #conversation: number;
  readonly #requester: 0 | 1;

  constructor(session: CaptureSession, conversation: number, requester: 0 | 1) {
    this.#session = session;
    this.#conversation = conversation;
    this.#requester = requester;
  }

  range(fromNs: number, toNs: number): Range {
    const whole = toNs <= fromNs;
    let [first, last, low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
    const from = whole ? Number.NEGATIVE_INFINITY : fromNs;
    this.each(from, whole ? Number.POSITIVE_INFINITY : toNs, (_index, _kind, timeNs, psn, count) => {
      first = Math.min(first, timeNs);
      last = Math.max(last, timeNs);
      low = Math.min(low, psn);
      high = Math.max(high, psn + count);
    });
    if (low > high) return { fromNs: whole ? 0 : fromNs, toNs: whole ? 1 : toNs, lowPsn: 0, highPsn: 1 };
    return {
      fromNs: whole ? first : fromNs,
      toNs: whole ? Math.max(last, first + 1) : toNs,
      lowPsn: low,
      highPsn: high,
    };
  }

  each(
    fromNs: number,
    toNs: number,
    visit: (index: number, kind: number, timeNs: number, psn: number, count: number) => void,
  ): void {
    const { table } = this.#session;
    const list = this.#session.packetsOf(this.#conversation);
    this.packets = 0;
    for (let at = 0; at < list.length; at++) {
      const index = list.at(at);
      const timeNs = table.timeNs[index] ?? 0;
      const psn = table.relativePsn[index] ?? Number.NaN;
      if (timeNs < fromNs || timeNs > toNs || Number.isNaN(psn) || table.requester[index] !== this.#requester) continue;
      this.packets++;
      for (const gone of goneBefore(this.#session, index)) visit(index, PointKind.Lost, timeNs, gone.psn, gone.count);
      visit(index, this.#kindOf(index), timeNs, psn, table.psnCount[index] ?? 1);
    }
  }

  #kindOf(index: number): number {
    const { table } = this.#session;
    const { flags } = opcodeInfo(table.opcode[index] ?? NONE);
    const again = ((table.marks[index] ?? 0) & (Mark.Retransmission | Mark.Copy)) !== 0;
    if ((flags & OpFlag.Response) === 0) return again ? PointKind.RequestAgain : PointKind.Request;
    const syndrome = table.syndrome[index] ?? 0;
    if (syndrome !== NONE && !isAck(syndrome)) return (syndrome & 0x60) === 0x20 ? PointKind.RnrNak : PointKind.Nak;
    if ((flags & OpFlag.Ack) !== 0) return PointKind.Ack;
    return again ? PointKind.ResponseAgain : PointKind.Response;
  }
}

/** Columns of points that grow. */
class Points {
  readonly #kind: number[] = [];
  readonly #timeNs: number[] = [];
  readonly #psn: number[] = [];
  readonly #count: number[] = [];
  readonly #number: number[] = [];

  readonly #merged: number[] = [];

  /** Which point it has become. */
  add(kind: number, timeNs: number, psn: number, count: number, number: number): number {
    this.#kind.push(kind);
    this.#timeNs.push(timeNs);
    this.#psn.push(psn);
    this.#count.push(count);
    this.#number.push(number);
    return this.#merged.push(1) - 1;
  }

  /** A point stands for one packet more. */
  merge(point: number, psn: number, count: number): void {
    const low = Math.min(this.#psn[point] ?? psn, psn);
    const high = Math.max((this.#psn[point] ?? psn) + (this.#count[point] ?? 0), psn + count);
    this.#psn[point] = low;
    this.#count[point] = high - low;
    this.#merged[point] = (this.#merged[point] ?? 0) + 1;
  }

  arrays(): Pick<SequencePicture, 'kind' | 'timeNs' | 'psn' | 'count' | 'number' | 'merged'> {
    return {
      kind: Uint8Array.from(this.#kind),
      timeNs: Float64Array.from(this.#timeNs),
      psn: Float64Array.from(this.#psn),
      count: Float64Array.from(this.#count),
      number: Uint32Array.from(this.#number),
      merged: Uint32Array.from(this.#merged),
    };
  }
}

const MOST_PIXELS = 2000;
const KINDS = 8;
/** Pixels in which packets of a kind are one point: what is drawn as a bar may grow, marks need room for themselves. */
const SPOTS: readonly (readonly [wide: number, high: number])[] = [
  [1, 24],
  [18, 18],
  [1, 24],
  [18, 18],
  [3, 6],
  [18, 18],
  [18, 18],
  [18, 18],
];
