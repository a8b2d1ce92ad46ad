/**
 * Suspicion: what looks like an attack, as events of the device (ref:hostile#3). Owns the causes, how much of each is
 * suspicious, and the limit of events. Never drops a frame and makes no text.
 *
 * State: 64 records of a cause and a peer, and one more for each cause, some 100 bytes each, made with the first
 * suspicion. A record is free again a second after its last event and its last count. While all are taken, other peers
 * count together, without an address. Nothing is allocated for a frame but the events themselves.
 */
import { IpAddress } from '../../packets/address.ts';
import type { Frame } from '../../packets/frame.ts';
import { IPV4_SOURCE_AT } from '../../packets/ipv4.ts';
import { IPV6_SOURCE_AT } from '../../packets/ipv6.ts';

/**
 * Every cause, and how often it comes from one address within a second before it is an event. Honest peers and wires
 * cause some of these now and then: a damaged packet, one to a queue pair that is gone, a neighbour that moves.
 */
export const SUSPICION_THRESHOLDS = {
  /** A known neighbour is said to be at another MAC address (`claims`). One that moves says so up to three times. */
  'neighbour-claim': 4,
  /** After such a claim the known MAC address has answered: two stations use one address (`claimsRefuted`). */
  'neighbour-claim-refuted': 1,
  /** Strangers have used up their share of unresolved neighbours (`strangersDropped`): 64 are there already. */
  'neighbour-flood': 1,
  /** SYNs answered with cookies (`cookiesSent`): 64 handshakes are under way already. */
  'tcp-syn-flood': 16,
  /** ACKs with a number that is no cookie (`badCookies`). Late ACKs of an honest peer are a few. */
  'tcp-bad-cookie': 16,
  /** SYNs and ACKs that a full listener did not take (`backlogFull`). A slow server does that as well. */
  'tcp-backlog-full': 64,
  /** RSTs and cookies of which too many waited (`resetsDropped`). */
  'tcp-resets-dropped': 1,
  /** Connection requests beyond the share of their source (`SourceFull`): it has 512 waiting. */
  'cm-source-full': 1,
  /** Waiting requests of this source that gave way to those of others (`displaced`), as it had most of them. */
  'cm-displaced': 1,
  /** Requests that a full listener did not take (`BacklogFull`). A slow server does that as well. */
  'cm-backlog-full': 64,
  /** Requests for which there was no place at all (`TableFull`). */
  'cm-table-full': 1,
  /** Frames whose source cannot be that of another host (`badSource`, of datagrams and of group reports). */
  'bad-source': 4,
  /** Packets to queue pair numbers that do not exist (`badQpn`). A peer that outlives its connection sends a burst. */
  'bad-qpn': 256,
  /** Wrong ICRCs (`badIcrc`). Fewer are a wire that damages packets. */
  'bad-icrc': 256,
  /** Packets to a connected queue pair from another address than its peer's (`badAddress`). */
  'bad-address': 16,
  /** The same for the UDP source port, where it is demanded (`badSourcePort`). */
  'bad-source-port': 16,
  /** Datagrams with another Q_Key than their queue pair's (`qkeyViolation`). */
  'bad-qkey': 16,
  /** PSNs further away than an honest peer's (`psnOutsideWindow`). */
  'psn-outside-window': 16,
  /** 4096 of them at one queue pair in a second (`psnAlarm`). */
  'psn-alarm': 1,
  /** Responses to what was never sent, or long ago (`responseOutsideWindow`). */
  'response-outside-window': 16,
  /** NAKs that came sooner than an answer can (`earlyNak`). A wire that doubles packets causes many at full load. */
  'early-nak': 4096,
  /** READ responses cut short as the peer showed no sign of life (`readResponseCut`). A slow peer causes a few. */
  'read-response-cut': 4,
  /** Congestion notifications that no honest receiver sends (`rpCnpExcess`). */
  'cnp-excess': 64,
  /** Requests that a key, a queue pair or the protocol does not allow (`accessRefused`, `refusedRequest`). */
  'access-refused': 1,
} as const satisfies Readonly<Record<string, number>>;

/** What looks like an attack: one of `SUSPICION_THRESHOLDS`. */
export type SuspicionCause = keyof typeof SUSPICION_THRESHOLDS;

/**
 * An event of a device: something looks like an attack. At most one a second for each cause and address. Where 64
 * events are not taken, no more are added.
 *
 * An injected packet that fits (ref:hostile#SEC-02) is no cause: the victim's own comes later as a duplicate, and
 * looks like a retransmission. Only the counters of both ends together show it.
 */
export interface SuspiciousEvent {
  /** Tells it from the other events, which are strings. */
  readonly kind: 'suspicious';
  /** What was counted. */
  readonly cause: SuspicionCause;
  /**
   * Who it came from by the newest frame, which may be forged; of neighbours the one that was named. Absent: of many
   * addresses together, or not known.
   */
  readonly address?: IpAddress;
  /** UDP or TCP source port of the newest frame, where there was one. */
  readonly port?: number;
  /** Our queue pair that it concerns, 1 for the connection manager; absent beside RoCE. */
  readonly qpn?: number;
  /** How often since the last event of this cause and address; times that stayed below the threshold are left out. */
  readonly count: number;
  /** When, on the clock of the device's host, in nanoseconds. */
  readonly at: number;
}

const RECORDS = 64;
/** Events that wait to be taken; where so many do, what is counted goes into the next event that has room. */
export const MAX_UNREAD = 64;
const SECOND_NS = 1_000_000_000;
const NO_QPN = -1;

/** A cause and a peer. */
class Suspect {
  cause: SuspicionCause = 'bad-icrc';
  /** 0: no address. */
  version: 0 | 4 | 6 = 0;
  w0 = 0;
  w1 = 0;
  w2 = 0;
  w3 = 0;
  port = 0;
  qpn = NO_QPN;
  /** Begin of the second in which is counted. */
  from = Number.NEGATIVE_INFINITY;
  inSecond = 0;
  /** Counted and in no event yet. */
  untold = 0;
  toldAt = Number.NEGATIVE_INFINITY;

  isFree(now: number): boolean {
    return now - this.from >= SECOND_NS && now - this.toldAt >= SECOND_NS;
  }
}

/** Where events go: `Device.events`. */
export interface SuspicionSink {
  readonly length: number;
  push(event: SuspiciousEvent): void;
}

export class Suspicions {
  readonly #sink: SuspicionSink;
  /** Made with the first suspicion, as the next. */
  #records: Suspect[] | undefined;
  #withoutAddress: Map<SuspicionCause, Suspect> | undefined;

  constructor(sink: SuspicionSink) {
    this.#sink = sink;
  }

  /** `times` more of `cause`, by the source of a frame with an IP header. `qpn`: -1 for none. */
  byFrame(now: number, cause: SuspicionCause, times: number, frame: Frame, qpn: number): void {
    const { view, ipVersion, ipOffset, sourcePort } = frame;
    if (ipVersion === 4) {
      const w3 = view.getUint32(ipOffset + IPV4_SOURCE_AT);
      this.#count(now, this.#recordOf(now, cause, 4, 0, 0, V4_MAPPED, w3), times, sourcePort, qpn);
      return;
    }
    const at = ipOffset + IPV6_SOURCE_AT;
    const w0 = view.getUint32(at);
    const w1 = view.getUint32(at + 4);
    const record = this.#recordOf(now, cause, 6, w0, w1, view.getUint32(at + 8), view.getUint32(at + 12));
    this.#count(now, record, times, sourcePort, qpn);
  }

  /** The same by an address that is known already, or by nobody in particular. `port` 0: none. */
  byAddress(
    now: number,
    cause: SuspicionCause,
    times: number,
    address: IpAddress | undefined,
    port = 0,
    qpn = NO_QPN,
  ): void {
    const record =
      address === undefined
        ? this.#commonOf(cause)
        : this.#recordOf(now, cause, address.version, address.w0, address.w1, address.w2, address.w3);
    this.#count(now, record, times, port, qpn);
  }

  #count(now: number, record: Suspect, times: number, port: number, qpn: number): void {
    const threshold = SUSPICION_THRESHOLDS[record.cause];
    if (now - record.from >= SECOND_NS) {
      if (record.inSecond < threshold) record.untold = 0;
      record.from = now;
      record.inSecond = 0;
    }
    record.inSecond += times;
    record.untold += times;
    record.port = port;
    record.qpn = qpn;
    if (record.inSecond < threshold || now - record.toldAt < SECOND_NS || this.#sink.length >= MAX_UNREAD) return;
    const { cause, version, w0, w1, w2, w3, untold } = record;
    record.toldAt = now;
    record.untold = 0;
    this.#sink.push({
      ...{ kind: 'suspicious', cause, count: untold, at: now },
      ...(version === 0 ? {} : { address: new IpAddress(version, w0, w1, w2, w3) }),
      ...(version === 0 || port === 0 ? {} : { port }),
      ...(qpn === NO_QPN ? {} : { qpn }),
    });
  }

  /** The record of this cause and address, a free one, or the common one of the cause. */
  #recordOf(
    now: number,
    cause: SuspicionCause,
    version: 4 | 6,
    w0: number,
    w1: number,
    w2: number,
    w3: number,
  ): Suspect {
    this.#records ??= Array.from({ length: RECORDS }, () => new Suspect());
    const records = this.#records;
    let free: Suspect | undefined;
    for (let i = 0; i < records.length; i++) {
      const record = records[i] as Suspect;
      const same = record.w3 === w3 && record.w2 === w2 && record.w1 === w1 && record.w0 === w0;
      if (same && record.version === version && record.cause === cause) return record;
      // The one that was counted longest ago, so that what is left to tell of the others stays.
      if (record.isFree(now) && (free === undefined || record.from < free.from)) free = record;
    }
    if (free === undefined) return this.#commonOf(cause);
    free.cause = cause;
    free.version = version;
    free.w0 = w0;
    free.w1 = w1;
    free.w2 = w2;
    free.w3 = w3;
    free.untold = 0;
    free.inSecond = 0;
    free.from = now;
    free.toldAt = Number.NEGATIVE_INFINITY;
    return free;
  }

  #commonOf(cause: SuspicionCause): Suspect {
    this.#withoutAddress ??= new Map();
    let record = this.#withoutAddress.get(cause);
    if (record === undefined) {
      record = new Suspect();
      record.cause = cause;
      this.#withoutAddress.set(cause, record);
    }
    return record;
  }
}

const V4_MAPPED = 0xff_ff;
