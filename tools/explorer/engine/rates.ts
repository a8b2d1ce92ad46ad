/**
 * What went over the wire in equal pieces of time: goodput, what was sent again, CE marks and CNPs, by who sent it.
 *
 * Owns the sums. Of READs the responder is the sender. Draws nothing.
 */
import { isMarked } from 'rocev2/packets';
import { IcrcState, Mark, Role } from 'rocev2/pcap';
import { tracedRates } from './notes.ts';
import type { RatePicture, Requests } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/**
 * The sums of one conversation, or of all with 0; between two times, or of all time where `toNs` is not above `fromNs`.
 */
export function ratePicture(session: CaptureSession, params: Requests['rates']['params']): RatePicture {
  const { table } = session;
  const list = params.conversation === 0 ? undefined : session.packetsOf(params.conversation);
  const packets = list?.length ?? table.length;
  const indexAt = (at: number): number => list?.at(at) ?? at;
  const whole = params.toNs <= params.fromNs;
  const fromNs = whole ? (packets > 0 ? (table.timeNs[indexAt(0)] ?? 0) : 0) : params.fromNs;
  const lastNs = packets > 0 ? (table.timeNs[indexAt(packets - 1)] ?? 0) : 0;
  // No time at all has no rates; far from the first packet, a nanosecond is less than a double can tell.
  const toNs = whole ? Math.max(lastNs, fromNs + Math.max(1, Math.abs(fromNs) * LEAST_PART)) : params.toNs;
  const bins = Math.max(1, Math.min(MOST_BINS, Math.floor(params.bins)));
  const binNs = (toNs - fromNs) / bins;
  const sides = [new Side(bins), new Side(bins)] as const;
  for (let at = 0; at < packets; at++) {
    const index = indexAt(at);
    const timeNs = table.timeNs[index] ?? 0;
    if (timeNs < fromNs || timeNs > toNs || table.role[index] === Role.None) continue;
    const bin = Math.min(bins - 1, Math.floor((timeNs - fromNs) / binNs));
    sides[table.sender[index] === 1 ? 1 : 0].count(session, index, bin);
  }
  const middles = Float64Array.from({ length: bins }, (_, bin) => fromNs + (bin + 0.5) * binNs);
  const traced = tracedRates(session, params.conversation);
  return { fromNs, toNs, binNs, timeNs: middles, sides: [sides[0].rates(binNs), sides[1].rates(binNs)], traced };
}

/** What one end sent. */
class Side {
  readonly #goodput: Float64Array;
  readonly #wire: Float64Array;
  readonly #again: Float64Array;
  readonly #ce: Float64Array;
  readonly #cnp: Float64Array;

  constructor(bins: number) {
    this.#goodput = new Float64Array(bins);
    this.#wire = new Float64Array(bins);
    this.#again = new Float64Array(bins);
    this.#ce = new Float64Array(bins);
    this.#cnp = new Float64Array(bins);
  }

  count({ table }: CaptureSession, index: number, bin: number): void {
    const again = ((table.marks[index] ?? 0) & (Mark.Retransmission | Mark.Copy)) !== 0;
    add(this.#wire, bin, table.original[index] ?? 0);
    // As `ConversationFigures` has it: what a receiver takes for the first time, connection management aside.
    if (again) add(this.#again, bin, table.payload[index] ?? 0);
    else if (table.role[index] !== Role.Management && table.icrc[index] !== IcrcState.Bad)
      add(this.#goodput, bin, table.payload[index] ?? 0);
    if (isMarked(table.trafficClass[index] ?? 0)) add(this.#ce, bin, 1);
    if (table.role[index] === Role.Cnp) add(this.#cnp, bin, 1);
  }

  /** Bytes become bits a second; marks and notifications stay numbers. */
  rates(binNs: number): RatePicture['sides'][0] {
    const bps = (bytes: Float64Array): Float64Array => bytes.map((value) => (value * 8e9) / binNs);
    return {
      goodputBps: bps(this.#goodput),
      wireBps: bps(this.#wire),
      againBps: bps(this.#again),
      ceMarks: this.#ce,
      cnps: this.#cnp,
    };
  }
}

function add(column: Float64Array, bin: number, value: number): void {
  column[bin] = (column[bin] ?? 0) + value;
}

const MOST_BINS = 4000;
const LEAST_PART = 2 ** -40;
