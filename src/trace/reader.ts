/**
 * Reads trace files back, in pieces of any size, and makes captured packets of them, so that what reads captures reads
 * traces too.
 *
 * Owns the splitting into records. Any text throws nothing but `RoceError` ERR_ROCE_CAPTURE, whose message names the
 * record; earlier events were returned. Memory is bounded: one unfinished record of 1 Mi characters at most.
 */
import { RoceError } from '../../packets/errors.ts';
import { type CapturedPacket, Direction, LinkType } from '../../pcap/types.ts';

/** A record of a trace file. */
export interface TraceEvent {
  /** Nanoseconds since the trace began. */
  readonly timeNs: number;
  /** One of `TRACE_EVENTS`, or of another schema. */
  readonly name: string;
  /** Its fields by name. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Reads one trace file.
 *
 * @example
 * ```ts
 * import { attachDevice, QpState, World } from 'rocev2';
 * import { TraceReader, TraceRecorder } from 'rocev2/trace';
 *
 * const records: string[] = [];
 * const world = new World({ seed: 1 });
 * const trace = new TraceRecorder({ now: () => world.now, write: (text) => records.push(text), name: 'a' });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], trace });
 * const cq = a.createCq(1);
 * await a.allocPd().createQp({ sendCq: cq, recvCq: cq }).modify({ state: QpState.Init, access: 0 });
 * const reader = new TraceReader();
 * for (const record of records) reader.push(record);
 * const event = reader.next() ?? reader.end();
 * console.log(reader.vantagePoint, event?.name); // a roce:state_updated
 * ```
 */
export class TraceReader {
  /** Name of the vantage point; empty before the header was read, and where it has none. */
  vantagePoint = '';
  #text = '';
  /** Records begun so far; the first is the header. */
  #records = 0;

  /** Appends the next piece of the file. */
  push(text: string): void {
    this.#text += text;
  }

  /** The next event, or undefined when more text is needed. @throws RoceError ERR_ROCE_CAPTURE for what is no trace */
  next(): TraceEvent | undefined {
    for (;;) {
      const from = this.#text.startsWith(RECORD_SEPARATOR) ? 1 : 0;
      const end = this.#text.indexOf(RECORD_SEPARATOR, from);
      if (end < 0) {
        if (this.#text.length > LONGEST_RECORD) throw this.#error('is longer than a record may be');
        if (this.#text.length > 0 && from === 0) throw this.#error('does not begin with the record separator, 0x1e');
        return undefined;
      }
      const event = this.#take(from, end);
      if (event !== undefined) return event;
    }
  }

  /**
   * No more text will come: the last record, if it is whole. @throws RoceError ERR_ROCE_CAPTURE when it is not, or
   * nothing was a trace
   */
  end(): TraceEvent | undefined {
    const last = this.#text.length > 0 ? this.#take(1, this.#text.length) : undefined;
    if (this.#records === 0) throw new RoceError('ERR_ROCE_CAPTURE', 'the trace is empty');
    return last;
  }

  #take(from: number, end: number): TraceEvent | undefined {
    const text = this.#text.slice(from, end);
    if (text.length > LONGEST_RECORD) throw this.#error('is longer than a record may be');
    const record = this.#parse(text);
    this.#text = this.#text.slice(end);
    this.#records += 1;
    if (this.#records === 1) {
      this.#readHeader(record);
      return undefined;
    }
    const { time, name, data } = record;
    if (typeof time !== 'number' || !Number.isFinite(time) || typeof name !== 'string' || !isObject(data))
      throw this.#error('has no time, name and data', 0);
    return { timeNs: Math.round(time * NS_PER_MS), name, data };
  }

  #parse(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.#error('is not JSON, or is cut off');
    }
    if (!isObject(value)) throw this.#error('is not an object');
    return value;
  }

  #readHeader({ file_schema: schema, trace }: Record<string, unknown>): void {
    if (schema !== FILE_SCHEMA) throw this.#error(`is no header of a trace: file_schema is not ${FILE_SCHEMA}`, 0);
    const point = isObject(trace) ? trace['vantage_point'] : undefined;
    const name = isObject(point) ? point['name'] : undefined;
    this.vantagePoint = typeof name === 'string' ? name : '';
  }

  #error(what: string, ahead = 1): RoceError {
    return new RoceError('ERR_ROCE_CAPTURE', `record ${this.#records + ahead} of the trace ${what}`);
  }
}

/** Whether a file that begins with these bytes is a trace rather than a capture. */
export function looksLikeTrace(start: Uint8Array): boolean {
  return start[0] === RECORD_SEPARATOR.charCodeAt(0);
}

/**
 * The frame of an event, truncated after its headers; undefined for other events, and for ones with an invalid `raw`.
 *
 * @param number position in the capture to be made, from 1
 */
export function packetOfTrace(event: TraceEvent, number: number): CapturedPacket | undefined {
  const { timeNs, name, data } = event;
  if (name !== 'roce:packet_sent' && name !== 'roce:packet_received') return undefined;
  const raw = data['raw'];
  if (!isObject(raw)) return undefined;
  const { length, medium, data: text } = raw;
  if (typeof text !== 'string' || text.length > 2 * LONGEST_FRAME || !/^(?:[0-9a-f]{2})*$/.test(text)) return undefined;
  const bytes = Uint8Array.from({ length: text.length / 2 }, (_, i) =>
    Number.parseInt(text.slice(2 * i, 2 * i + 2), 16),
  );
  if (typeof length !== 'number' || !(length >= bytes.length && length <= LONGEST_FRAME)) return undefined;
  const seconds = Math.floor(timeNs / 1e9);
  return {
    number,
    seconds,
    nanoseconds: timeNs - seconds * 1e9,
    bytes,
    originalLength: length,
    linkType: medium === 'ip' ? LinkType.Raw : LinkType.Ethernet,
    interfaceIndex: 0,
    direction: name === 'roce:packet_sent' ? Direction.Outbound : Direction.Inbound,
    comments: [],
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const RECORD_SEPARATOR = '\x1e';
const FILE_SCHEMA = 'urn:ietf:params:qlog:file:sequential';
const LONGEST_RECORD = 1 << 20;
const LONGEST_FRAME = 1 << 16;
const NS_PER_MS = 1e6;
