/**
 * Writes what a device does as a trace file: qlog's sequence of JSON texts with the events of schema.ts.
 *
 * Owns the text of records. Never does I/O and has no clock: text goes to `write`, times come from `now`, so a
 * simulated run gives the same file each time. Watches as `QpTrace` (decisions) and as `CaptureSink` (frames). Not for
 * hot paths: every event builds a string.
 *
 * ```ts
 * const trace = new TraceRecorder({ now: () => world.now, name: 'a', write: (text) => lines.push(text) });
 * const device = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], trace });
 * ```
 */

import { aethMsn, aethSyndrome } from '../../packets/aeth.ts';
import { defined } from '../../packets/defined.ts';
import { Frame, FrameStatus, frameStatusName, Medium, parseFrame } from '../../packets/frame.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { ICRC_BYTES, icrcMatches } from '../../packets/icrc.ts';
import { AETH_AT, opcodeInfo } from '../../packets/opcode.ts';
import { ECN_MASK } from '../../packets/traffic-class.ts';
import type { RateController } from '../../transport/congestion/rate-controller.ts';
import { QP_STATE_NAMES, type QpState } from '../../transport/qp-state.ts';
import type { QpTrace, RequestJudgement, RetryTrigger } from '../../transport/trace.ts';
import { WcOpcode, type WorkCompletion, wcStatusName } from '../../transport/work.ts';
import { TRACE_EVENT_SCHEMA } from './schema.ts';

/** What a recorder is made of. */
export interface TraceRecorderOptions {
  /** Time in integer nanoseconds; the trace begins at that of the first call. */
  readonly now: () => number;
  /** Takes the text of one record at a time, beginning with the header. */
  readonly write: (text: string) => void;
  /** The name of the vantage point. */
  readonly name: string;
  /** A sentence about the run; default none. */
  readonly title?: string;
  /** What frames begin with; default Ethernet. */
  readonly medium?: Medium;
}

/**
 * Writes a trace.
 *
 * @example
 * ```ts
 * import { attachDevice, QpState, World } from 'rocev2';
 * import { TraceRecorder } from 'rocev2/trace';
 *
 * const records: string[] = [];
 * const world = new World({ seed: 1 });
 * const trace = new TraceRecorder({ now: () => world.now, write: (text) => records.push(text), name: 'a' });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], trace });
 * const cq = a.createCq(1);
 * await a.allocPd().createQp({ sendCq: cq, recvCq: cq }).modify({ state: QpState.Init, access: 0 });
 * // The header, and the move from RESET to INIT.
 * console.log(records.length); // 2
 * ```
 */
export class TraceRecorder implements QpTrace {
  readonly #now: () => number;
  readonly #write: (text: string) => void;
  #medium: Medium;
  readonly #startNs: number;
  readonly #frame = new Frame();
  /** Rates recorded last, by queue pair. */
  readonly #rates = new Map<number, string>();

  /** Writes the header. */
  constructor({ now, write, name, title, medium = Medium.Ethernet }: TraceRecorderOptions) {
    this.#now = now;
    this.#write = write;
    this.#medium = medium;
    this.#startNs = now();
    this.#record({
      file_schema: 'urn:ietf:params:qlog:file:sequential',
      serialization_format: 'application/qlog+json-seq',
      ...defined({ title }),
      trace: {
        common_fields: {
          time_format: 'relative_to_epoch',
          reference_time: { clock_type: 'monotonic', epoch: 'unknown' },
          protocol_types: ['ROCEV2'],
        },
        vantage_point: { name, type: 'unknown' },
        event_schemas: [TRACE_EVENT_SCHEMA],
      },
    });
  }

  /** Sets the medium of later frames, for a link that is opened after the recorder was made. */
  on(medium: Medium): this {
    this.#medium = medium;
    return this;
  }

  /**
   * A frame in [start, end) of `bytes`, valid during the call, that was sent or received at `timeNs` of the same clock
   * as `now`.
   */
  frame(timeNs: number, direction: 'in' | 'out', bytes: Uint8Array, start: number, end: number): void {
    const frame = this.#frame;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, start, end, this.#medium, frame);
    const data = {
      status: frameStatusName(status),
      ...(direction === 'in' && status === FrameStatus.Ok ? { icrc: icrcMatches(frame) ? 'good' : 'bad' } : {}),
      ...(status === FrameStatus.Ok ? packetData(frame) : {}),
      raw: {
        length: end - start,
        medium: this.#medium === Medium.Ethernet ? 'ethernet' : 'ip',
        data: hex(bytes, start, keptTo(frame, status)),
      },
    };
    this.#event(timeNs, direction === 'in' ? 'packet_received' : 'packet_sent', data);
  }

  /** Of `QpTrace`, as are all below. */
  stateChanged(qpn: number, from: QpState, to: QpState): void {
    this.#event(this.#now(), 'state_updated', { qpn, old: QP_STATE_NAMES[from], new: QP_STATE_NAMES[to] });
  }

  /** Something new is acknowledged. */
  acknowledged(qpn: number, psn: number, outstanding: number): void {
    this.#event(this.#now(), 'acknowledged', { qpn, psn, outstanding });
  }

  /** The requester retransmits. */
  retried(qpn: number, psn: number, trigger: RetryTrigger, retriesLeft: number): void {
    this.#event(this.#now(), 'went_back', { qpn, psn, trigger, retries_left: retriesLeft });
  }

  /** The peer sent an RNR NAK. */
  rnrWait(qpn: number, psn: number, waitNs: number): void {
    this.#event(this.#now(), 'rnr_wait', { qpn, psn, wait: waitNs / NS_PER_MS });
  }

  /** The responder did not simply execute a request. */
  judged(qpn: number, psn: number, judgement: RequestJudgement): void {
    this.#event(this.#now(), 'request_judged', { qpn, psn, judgement });
  }

  /** A work request completed. */
  completed({ qpn, wrId, opcode, status, byteLen }: WorkCompletion): void {
    const name = WC_OPCODE_NAMES.get(opcode) ?? String(opcode);
    const data = { qpn, wr_id: wrId, opcode: name, status: wcStatusName(status), byte_length: byteLen };
    this.#event(this.#now(), 'completed', data);
  }

  /** A congestion notification was acted upon. */
  notified(qpn: number): void {
    this.#event(this.#now(), 'notified', { qpn });
  }

  /** Recorded when it differs from the last one. */
  rate(qpn: number, { currentRateBps, targetRateBps, alpha }: Readonly<RateController>): void {
    const rates = `${currentRateBps} ${targetRateBps} ${alpha}`;
    if (this.#rates.get(qpn) === rates) return;
    this.#rates.set(qpn, rates);
    this.#event(this.#now(), 'rate_updated', { qpn, rate: currentRateBps, target: targetRateBps, alpha });
  }

  #event(timeNs: number, name: string, data: object): void {
    // Nanoseconds fit into the digits of a double for 104 days.
    this.#record({ time: (timeNs - this.#startNs) / NS_PER_MS, name: `roce:${name}`, data });
  }

  #record(record: object): void {
    this.#write(`${RECORD_SEPARATOR}${JSON.stringify(record)}\n`);
  }
}

function packetData(frame: Frame): object {
  const aethAt = AETH_AT[frame.opcode] ?? -1;
  const at = frame.bthOffset + aethAt;
  return {
    opcode: opcodeInfo(frame.opcode).name,
    dest_qpn: frame.destQpn,
    psn: frame.psn,
    ack_req: frame.ackReq === 1,
    ecn: frame.trafficClass & ECN_MASK,
    payload_length: frame.payloadLength,
    ...(aethAt < 0 ? {} : { syndrome: aethSyndrome(frame.view, at), msn: aethMsn(frame.view, at) }),
  };
}

/** Headers, and management datagrams whole: they show the connections. */
function keptTo(frame: Frame, status: FrameStatus): number {
  if (status !== FrameStatus.Ok) return Math.min(frame.end, frame.start + OTHER_BYTES);
  return isMad(frame) ? frame.icrcOffset + ICRC_BYTES : frame.payloadOffset;
}

function hex(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at++) text += (bytes[at] as number).toString(16).padStart(2, '0');
  return text;
}

const WC_OPCODE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(WcOpcode).map(([name, value]) => [value, name]),
);
/** RFC 7464: each text of a sequence begins with it. */
const RECORD_SEPARATOR = '\x1e';
const NS_PER_MS = 1e6;
/** Bytes kept of a frame that is not RoCE. */
const OTHER_BYTES = 64;
