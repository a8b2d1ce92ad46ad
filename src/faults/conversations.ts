/**
 * Tracks connections on a wire: learns queue pairs and starting PSNs from packets, and gives each packet's connection
 * and relative PSN.
 *
 * Two sources. Connection management gives everything: REQ and REP name both queue pairs, and the starting PSN in each
 * is the first PSN that the other side sends. Without it (parameters exchanged over TCP, or a capture that starts late)
 * the first request towards a queue pair begins a connection, and the first response whose PSN fits shows the other
 * queue pair.
 *
 * Owns the tables, all bounded: the oldest entry is evicted. Never throws, whatever the bytes; only packets with a
 * correct ICRC create state. ACKs and READ responses are in the PSN space of the requester (ref:wire#8).
 */
import type { IpAddress } from '../../packets/address.ts';
import { type CmMad, type CmReq, parseCmMad } from '../../packets/cm/index.ts';
import { dethSourceQpn } from '../../packets/deth.ts';
import {
  type Frame,
  FrameStatus,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
} from '../../packets/frame.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { DETH_AT, OpFlag } from '../../packets/opcode.ts';
import { PSN_MASK, psnDiff } from '../../packets/psn.ts';
import type { MatchContext } from './compile.ts';
import { addressHash, flowKey } from './flow-key.ts';
import { PassCounter } from './pass-counter.ts';

/** What is known of one packet; made once and filled again by each `observe`. */
export class PacketContext implements MatchContext {
  /** Its connection on this wire, from 1; 0: not known. */
  connection = 0;
  /** The queue pair that sent it; -1: not known. */
  sourceQpn = -1;
  /** In whose PSN space it is: a request in that of its sender, a response in that of its receiver. */
  role: 'none' | 'request' | 'response' = 'none';
  /** PSN counted from the first of its connection and PSN space; NaN: not known. */
  relativePsn = Number.NaN;
  /** How often this PSN has passed in this direction, from 1; 0: not known. */
  iteration = 0;
}

/** One end of a connection. */
export interface TrackedConnectionEnd {
  /** Its address. */
  readonly address: IpAddress;
  /** -1: not seen. */
  readonly qpn: number;
  /** The first PSN of requests from this end; -1: it has sent none, and none was announced. */
  readonly startingPsn: number;
}

/** A connection as it was seen on the wire. */
export interface TrackedConnection {
  /** Its number on this wire, from 1. */
  readonly connection: number;
  /** From its connection management, or from its packets. */
  readonly learnt: 'cm' | 'traffic';
  /** The end on side a. */
  readonly a: TrackedConnectionEnd;
  /** The end on side b. */
  readonly b: TrackedConnectionEnd;
}

export class ConnectionTracker {
  readonly #capacity: number;
  /** By number, oldest first. */
  readonly #connections = new Map<number, Connection>();
  /** By `flowKey` of packets towards one of its queue pairs. */
  readonly #flows = new Map<number, Connection>();
  /** One of the two queue pairs is not known yet. */
  readonly #unpaired = new Set<Connection>();
  /** REQs that a REP may answer. */
  readonly #requests = new Map<string, PendingRequest>();
  #lastNumber = 0;

  /** @param capacity connections remembered, at most */
  constructor(capacity = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  /** The tracked connections, in the order of their numbers. */
  list(): TrackedConnection[] {
    return [...this.#connections.values()].map((connection) => connection.describe());
  }

  /**
   * Learns from a frame and fills `note`.
   *
   * @param status result of `parseFrame`; only Ok frames change state
   * @param direction 0 from a to b, 1 from b to a
   */
  observe(frame: Frame, status: FrameStatus, direction: number, note: PacketContext): void {
    note.connection = 0;
    note.sourceQpn = -1;
    note.role = 'none';
    note.relativePsn = Number.NaN;
    note.iteration = 0;
    if (status !== FrameStatus.Ok) return;
    if ((DETH_AT[frame.opcode] ?? -1) >= 0) this.#observeDatagram(frame, direction, note);
    else if ((frame.flags & OpFlag.Request) !== 0) this.#observeRequest(frame, direction, note);
    else if ((frame.flags & OpFlag.Response) !== 0) this.#observeResponse(frame, direction, note);
    else note.connection = this.#name(this.#find(frame, direction), direction, note);
  }

  /** The queue pair that sent a frame which parsed well, as far as is known; -1: not known. Learns nothing. */
  senderOf(frame: Frame, direction: number): number {
    const deth = DETH_AT[frame.opcode] ?? -1;
    if (deth >= 0) return dethSourceQpn(frame.view, frame.bthOffset + deth);
    return this.#find(frame, direction)?.end(direction).qpn ?? -1;
  }

  /** A number for what a queue pair sends to an address: equal for equal ones, hardly ever equal for others. */
  flowOf(frame: Frame, direction: number, sender: number): number {
    return flowKey(addressHash(frame, direction), direction, sender);
  }

  #observeDatagram(frame: Frame, direction: number, note: PacketContext): void {
    note.role = 'request';
    note.sourceQpn = dethSourceQpn(frame.view, frame.bthOffset + (DETH_AT[frame.opcode] ?? 0));
    if (!isMad(frame) || !icrcMatches(frame)) return;
    const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
    if (typeof mad !== 'number') this.#learn(frame, direction, mad);
  }

  #observeRequest(frame: Frame, direction: number, note: PacketContext): void {
    note.role = 'request';
    let connection = this.#find(frame, direction);
    if (connection?.ends[direction]?.space === undefined) {
      if (!icrcMatches(frame)) return;
      connection ??= this.#infer(frame, direction);
      const end = connection.end(direction);
      end.space ??= new PsnSpace(frame.psn);
    }
    this.#place(frame, connection, direction, direction, note);
  }

  #observeResponse(frame: Frame, direction: number, note: PacketContext): void {
    note.role = 'response';
    let connection = this.#find(frame, direction);
    if (connection?.end(1 - direction).space === undefined) {
      connection = icrcMatches(frame) ? this.#pair(frame, direction, connection) : undefined;
    }
    if (connection !== undefined) this.#place(frame, connection, direction, 1 - direction, note);
  }

  /** @param requester the end whose PSN space the packet is in */
  #place(frame: Frame, connection: Connection, direction: number, requester: number, note: PacketContext): void {
    const space = connection.end(requester).space;
    if (space === undefined) return;
    const counter = space.counterOf(frame.flags);
    const relative = space.relative(frame.psn);
    // A damaged PSN would move the newest PSN to where no packet will be.
    if (relative > counter.next && !icrcMatches(frame)) return;
    note.connection = this.#name(connection, direction, note);
    note.relativePsn = relative;
    note.iteration = counter.pass(relative);
  }

  #name(connection: Connection | undefined, direction: number, note: PacketContext): number {
    if (connection === undefined) return 0;
    note.sourceQpn = connection.end(direction).qpn;
    return connection.number;
  }

  #find(frame: Frame, direction: number): Connection | undefined {
    const connection = this.#flows.get(flowKey(addressHash(frame, direction), direction, frame.destQpn));
    return connection?.isBetween(frame, direction) === true ? connection : undefined;
  }

  /** A connection of which the traffic has shown one queue pair. */
  #infer(frame: Frame, direction: number): Connection {
    const connection = this.#add('traffic', frame, direction);
    connection.end(1 - direction).qpn = frame.destQpn;
    this.#register(connection, addressHash(frame, direction), direction);
    this.#unpaired.add(connection);
    return connection;
  }

  /**
   * The connection whose requests this response answers, which shows the queue pair of the requester.
   *
   * @param reverse what is known of requests towards that queue pair; it turns out to be the same connection
   */
  #pair(frame: Frame, direction: number, reverse: Connection | undefined): Connection | undefined {
    const requester = 1 - direction;
    if (reverse !== undefined && reverse.end(direction).qpn >= 0) return undefined;
    let best: Connection | undefined;
    let bestDistance = FARTHEST_RESPONSE;
    for (const candidate of this.#unpaired) {
      const end = candidate.end(requester);
      if (candidate === reverse || end.qpn >= 0 || !candidate.isBetween(frame, direction)) continue;
      const distance = end.space?.distanceOfResponse(frame.psn) ?? FARTHEST_RESPONSE;
      if (distance >= bestDistance) continue;
      best = candidate;
      bestDistance = distance;
    }
    if (best === undefined) return undefined;
    best.end(requester).qpn = frame.destQpn;
    this.#unpaired.delete(best);
    const whole = reverse === undefined ? best : this.#merge(best, reverse);
    this.#register(whole, addressHash(frame, direction), direction);
    return whole;
  }

  /** Two halves, one for each direction of requests, are one connection: the older one. */
  #merge(one: Connection, other: Connection): Connection {
    const [older, younger] = one.number < other.number ? [one, other] : [other, one];
    older.absorb(younger);
    this.#unpaired.delete(older);
    this.#connections.delete(younger.number);
    this.#unpaired.delete(younger);
    for (const key of younger.keys) {
      this.#flows.set(key, older);
      older.keys.push(key);
    }
    if (younger.number === this.#lastNumber) this.#lastNumber--;
    return older;
  }

  #learn(frame: Frame, direction: number, { message }: CmMad): void {
    const hash = addressHash(frame, direction);
    if (message.kind === 'REQ') {
      this.#requests.set(`${hash} ${direction} ${message.body.localCommId}`, message.body);
      evictOldest(this.#requests, this.#capacity);
    } else if (message.kind === 'REP') {
      const requester = 1 - direction;
      const request = this.#requests.get(`${hash} ${requester} ${message.body.remoteCommId}`);
      if (request !== undefined) this.#establish(frame, direction, request, message.body);
    }
  }

  /** @param reply the REP of the end at which `direction` begins */
  #establish(frame: Frame, direction: number, request: PendingRequest, reply: PendingReply): void {
    const requester = 1 - direction;
    const hash = addressHash(frame, direction);
    const known = this.#flows.get(flowKey(hash, direction, request.localQpn));
    // A retransmitted REP has nothing new.
    if (known?.learnt === 'cm' && known.is(requester, request, reply)) return;
    const connection = this.#add('cm', frame, direction);
    const active = connection.end(requester);
    const passive = connection.end(direction);
    active.qpn = request.localQpn;
    passive.qpn = reply.localQpn;
    // The starting PSN that an end announces is the first PSN of the other end.
    active.space = new PsnSpace(reply.startingPsn);
    passive.space = new PsnSpace(request.startingPsn);
    this.#register(connection, hash, direction);
    this.#register(connection, hash, requester);
  }

  #add(learnt: 'cm' | 'traffic', frame: Frame, direction: number): Connection {
    const source = new End(frameSource(frame));
    const destination = new End(frameDestination(frame));
    const ends: readonly [End, End] = direction === 0 ? [source, destination] : [destination, source];
    const connection = new Connection(++this.#lastNumber, learnt, ends);
    this.#connections.set(connection.number, connection);
    if (this.#connections.size > this.#capacity) this.#forgetOldest();
    return connection;
  }

  /** Indexes the connection for packets in `direction` to its queue pair there. */
  #register(connection: Connection, hash: number, direction: number): void {
    const key = flowKey(hash, direction, connection.end(1 - direction).qpn);
    this.#flows.set(key, connection);
    connection.keys.push(key);
  }

  #forgetOldest(): void {
    for (const connection of this.#connections.values()) {
      this.#connections.delete(connection.number);
      this.#unpaired.delete(connection);
      for (const key of connection.keys) if (this.#flows.get(key) === connection) this.#flows.delete(key);
      return;
    }
  }
}

type PendingRequest = Pick<CmReq, 'localQpn' | 'startingPsn'>;
type PendingReply = PendingRequest;

class Connection {
  readonly number: number;
  readonly learnt: 'cm' | 'traffic';
  /** The one on side a, the one on side b: `ends[direction]` sends what travels in that direction. */
  readonly ends: readonly [End, End];
  readonly keys: number[] = [];

  constructor(number: number, learnt: 'cm' | 'traffic', ends: readonly [End, End]) {
    this.number = number;
    this.learnt = learnt;
    this.ends = ends;
  }

  end(side: number): End {
    return side === 0 ? this.ends[0] : this.ends[1];
  }

  isBetween(frame: Frame, direction: number): boolean {
    const from = this.end(direction).address;
    return frameSourceIs(frame, from) && frameDestinationIs(frame, this.end(1 - direction).address);
  }

  is(requester: number, request: PendingRequest, reply: PendingReply): boolean {
    const active = this.end(requester);
    const passive = this.end(1 - requester);
    return (
      active.qpn === request.localQpn &&
      passive.qpn === reply.localQpn &&
      active.space?.startingPsn === reply.startingPsn &&
      passive.space?.startingPsn === request.startingPsn
    );
  }

  absorb(other: Connection): void {
    for (const side of [0, 1]) {
      const mine = this.end(side);
      const theirs = other.end(side);
      if (mine.qpn < 0) mine.qpn = theirs.qpn;
      mine.space ??= theirs.space;
    }
  }

  describe(): TrackedConnection {
    const describe = ({ address, qpn, space }: End): TrackedConnectionEnd => ({
      address,
      qpn,
      startingPsn: space?.startingPsn ?? -1,
    });
    return { connection: this.number, learnt: this.learnt, a: describe(this.ends[0]), b: describe(this.ends[1]) };
  }
}

class End {
  readonly address: IpAddress;
  qpn = -1;
  /** PSNs of the requests that this end sends. */
  space: PsnSpace | undefined;

  constructor(address: IpAddress) {
    this.address = address;
  }
}

/** The PSNs of one requester: its requests and their responses. */
class PsnSpace {
  readonly startingPsn: number;
  readonly requests = new PassCounter();
  /** READ and atomic responses; a NAK or an ACK may carry the PSN of a response that is still to come. */
  readonly #responses = new PassCounter();
  readonly #acknowledges = new PassCounter();

  constructor(startingPsn: number) {
    this.startingPsn = startingPsn;
  }

  counterOf(flags: number): PassCounter {
    if ((flags & OpFlag.Request) !== 0) return this.requests;
    return (flags & OpFlag.Ack) === 0 ? this.#responses : this.#acknowledges;
  }

  /** Counted from the starting PSN, without wrapping. */
  relative(psn: number): number {
    const { next } = this.requests;
    return next + psnDiff(psn, (this.startingPsn + next) & PSN_MASK);
  }

  /** How far a response with this PSN is from the newest request; `FARTHEST_RESPONSE` and more: it answers none. */
  distanceOfResponse(psn: number): number {
    const relative = this.relative(psn);
    return relative < 0 ? FARTHEST_RESPONSE : Math.abs(this.requests.next - 1 - relative);
  }
}

function evictOldest(map: Map<string, unknown>, capacity: number): void {
  if (map.size <= capacity) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

const DEFAULT_CAPACITY = 1024;
/** In packets: 8 MiB in packets of 256 bytes is what the longest READ of rdma_rxe may bring. */
const FARTHEST_RESPONSE = 0x80_00;
