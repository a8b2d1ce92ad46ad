/**
 * Answers to TCP segments that belong to no connection: RSTs, and SYN-ACKs with cookies. Owns their queue, at most 256
 * frames of 60 to 82 bytes, and the key of the cookies. Never makes a connection. Each segment draws at most one
 * answer.
 */
import type { MacAddress } from '../../../../packets/address.ts';
import type { FrameWriter } from '../../../../packets/frame-writer.ts';
import { IPV4_BYTES } from '../../../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../../../packets/ipv6.ts';
import {
  type ReceivedSegment,
  segmentFrame,
  sequenceLength,
  TCP_BYTES,
  TcpFlag,
  type TcpRoute,
  type TcpSegment,
} from './segment.ts';
import type { TcpEnds } from './socket.ts';
import { SynCookies } from './syn-cookies.ts';
import type { TcpHost } from './tcp-host.ts';

/** Both ends of a segment that is answered without a connection, and the MAC address it came from. */
export interface AnswerEnds extends TcpEnds {
  readonly sourceMac: MacAddress;
}

export interface StatelessCounters {
  resetsDropped: number;
  cookiesSent: number;
  badCookies: number;
}

export class StatelessAnswers {
  readonly #host: TcpHost;
  readonly #counters: StatelessCounters;
  readonly #frames: Uint8Array[] = [];
  /** Made with the first cookie. */
  #cookies: SynCookies | undefined;
  /** Until when the last cookie counts. */
  #cookiesUntil = -Infinity;

  constructor(host: TcpHost, counters: StatelessCounters) {
    this.#host = host;
    this.#counters = counters;
  }

  /** RFC 9293 3.10.7.1: a reset that the sender of `segment` accepts. */
  refuse(ends: AnswerEnds, segment: ReceivedSegment): void {
    if ((segment.flags & TcpFlag.Rst) !== 0) return;
    const answersAck = (segment.flags & TcpFlag.Ack) !== 0;
    this.#answer(ends, {
      seq: answersAck ? segment.ack : 0,
      ack: answersAck ? 0 : (segment.seq + sequenceLength(segment)) >>> 0,
      flags: answersAck ? TcpFlag.Rst : TcpFlag.Rst | TcpFlag.Ack,
      window: 0,
      data: NOTHING,
    });
  }

  /** Answers a SYN of which nothing is kept. */
  sendCookie(now: number, ends: AnswerEnds, syn: ReceivedSegment): void {
    const { mss, defaultMss } = segmentSizes(this.#host.mtu, ends);
    this.#cookies ??= new SynCookies(this.#host.random);
    this.#cookiesUntil = now + COOKIE_LIFE_NS;
    const seq = this.#cookies.make(now, ends, syn.seq, syn.mss ?? defaultMss);
    const flags = TcpFlag.Syn | TcpFlag.Ack;
    const answer = { seq, ack: (syn.seq + 1) >>> 0, flags, window: MAX_WINDOW, mss, data: NOTHING };
    if (!this.#answer(ends, answer)) return;
    this.#counters.cookiesSent += 1;
    this.#host.suspect?.('tcp-syn-flood', ends.remoteAddress, ends.remotePort);
  }

  /** The peer's segment size, when the segment acknowledges a cookie that counts. */
  cookieOf(now: number, ends: AnswerEnds, segment: ReceivedSegment): number | undefined {
    if (now > this.#cookiesUntil || (segment.flags & (TcpFlag.Syn | TcpFlag.Rst | TcpFlag.Ack)) !== TcpFlag.Ack)
      return undefined;
    const mss = this.#cookies?.check(now, ends, (segment.seq - 1) >>> 0, (segment.ack - 1) >>> 0);
    if (mss === undefined) {
      this.#counters.badCookies += 1;
      this.#host.suspect?.('tcp-bad-cookie', ends.remoteAddress, ends.remotePort);
    }
    return mss;
  }

  /** Appends answers until none is left or the writer is full; true when some are left. */
  transmit(writer: FrameWriter): boolean {
    while (!writer.full && this.#frames.length > 0) {
      const frame = this.#frames.shift();
      if (frame !== undefined) writer.appendRaw(frame, 0, frame.length);
    }
    return this.#frames.length > 0;
  }

  /** False when too many wait. */
  #answer(ends: AnswerEnds, segment: TcpSegment): boolean {
    if (this.#frames.length >= MAX_FRAMES) {
      this.#counters.resetsDropped += 1;
      this.#host.suspect?.('tcp-resets-dropped', ends.remoteAddress, ends.remotePort);
      return false;
    }
    const destMac = this.#host.knownMac(ends.remoteAddress) ?? ends.sourceMac;
    this.#frames.push(segmentFrame(routeOf(this.#host, ends, destMac), segment));
    return true;
  }
}

/** Addresses and ports of what we send to the other end. */
export function routeOf({ mac, vlanTci }: TcpHost, ends: TcpEnds, destMac: MacAddress): TcpRoute {
  const { localAddress, localPort, remoteAddress, remotePort } = ends;
  const ip = { source: localAddress, destination: remoteAddress };
  return { sourceMac: mac, destMac, vlanTci, ...ip, sourcePort: localPort, destPort: remotePort };
}

/** What we take in a segment, and what a peer takes that does not say. */
export function segmentSizes(
  mtu: number,
  { remoteAddress }: TcpEnds,
): { readonly mss: number; readonly defaultMss: number } {
  const isV4 = remoteAddress.version === 4;
  return { mss: mtu - TCP_BYTES - (isV4 ? IPV4_BYTES : IPV6_BYTES), defaultMss: isV4 ? 536 : 1220 };
}

const MAX_FRAMES = 256;
const MAX_WINDOW = 0xff_ff;
/** A cookie counts until the second epoch ends. */
const COOKIE_LIFE_NS = 128e9;
const NOTHING = new Uint8Array(0);
