/**
 * The tester's queue pair 1: messages of connection management, sent one by one as a script says, and those of the
 * device as they come. Owns the datagram around a MAD, and whose message is whose: what names an id that the script
 * never gave is passed over.
 *
 * It is no connection manager: nothing is repeated or answered by itself. Facts about MADs and queue pair 1:
 * ref:wire#10, packets/cm.
 */

import { buildFrame, datagram, describePacket, type Packet, type Route, type Sighting } from 'rocev2/packets/kit';
import {
  type CmMad,
  type CmMessage,
  CmRejReason,
  cmRejReasonName,
  GSI_QKEY,
  GSI_QPN,
  MAD_BYTES,
  parseCmMad,
  writeCmMad,
} from 'rocev2/packets/management';
import { type NumberSource, unknownServiceRequest } from './cm-request.ts';
import type { Dut, DutAddress } from './dut.ts';
import type { Inbox } from './inbox.ts';
import { demand, NotApplicable } from './outcome.ts';

export type CmKind = CmMessage['kind'];
export type CmBody<K extends CmKind> = Extract<CmMessage, { kind: K }>['body'];

/** A message of the device, of a known kind. */
export interface CmArrivalOf<K extends CmKind> {
  readonly kind: K;
  readonly body: CmBody<K>;
  readonly transactionId: bigint;
  readonly sighting: Sighting;
}

/** A message of the device. */
export type CmArrival<K extends CmKind = CmKind> = { [Kind in K]: CmArrivalOf<Kind> }[K];

export interface CmSendOptions {
  /** Default a new one. */
  readonly transactionId?: bigint;
  /** IP version; default that of the device's first address. */
  readonly version?: 4 | 6;
  /** What is odd about the packet around the MAD. */
  readonly packet?: Partial<Packet>;
  /** Changes the MAD in place, or gives what is to be sent instead of its 256 bytes. */
  readonly mad?: (bytes: Uint8Array) => Uint8Array | undefined;
}

/** What queue pair 1 needs of the case that opens it. */
export interface CmPortHost extends NumberSource {
  readonly dut: Dut;
  now(): number;
  /** The address of the device of that version. @throws NotApplicable when it has none */
  address(version?: 4 | 6): DutAddress;
  /** @throws NotApplicable when the value is not there */
  need<T>(value: T | undefined): T;
}

export class CmPort {
  readonly #t: CmPortHost;
  readonly #routes: ReadonlyMap<4 | 6, Route>;
  readonly #inbox: Inbox;
  /** By id of ours: messages that were not taken yet. */
  readonly #queues = new Map<number, CmArrival[]>();
  /** REQs of the device. */
  readonly #requests: CmArrival<'REQ'>[] = [];
  /** What was taken, as bytes: the same again is a repetition. */
  readonly #taken = new Map<number, Set<string>>();
  #psn = 0;

  private constructor(t: CmPortHost, routes: ReadonlyMap<4 | 6, Route>, inbox: Inbox) {
    this.#t = t;
    this.#routes = routes;
    this.#inbox = inbox;
  }

  /** Queue pair 1 is ours until `close`. */
  static async open(t: CmPortHost): Promise<CmPort> {
    const { station } = t.dut;
    const routes = new Map<4 | 6, Route>();
    for (const { address, ours } of t.dut.addresses) {
      if (routes.has(address.version)) continue;
      routes.set(address.version, {
        ...{ medium: station.medium, sourceMac: station.mac, destMac: await station.macTowards(address) },
        ...{ source: ours, destination: address, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 },
      });
    }
    station.close(GSI_QPN);
    return new CmPort(t, routes, station.open(GSI_QPN));
  }

  close(): void {
    this.#t.dut.station.close(GSI_QPN);
  }

  /** The way to the device. */
  route(version = this.#t.address().address.version): Route {
    const route = this.#routes.get(version);
    return this.#t.need(route);
  }

  /** A communication id of ours; what the device sends to it is kept from now on. */
  id(): number {
    const id = this.#t.random.u32() >>> 0 || 1;
    this.expect(id);
    return id;
  }

  /** Keeps what the device sends to an id of ours. */
  expect(id: number): void {
    if (!this.#queues.has(id)) this.#queues.set(id, []);
  }

  transaction(): bigint {
    return (BigInt(this.#t.random.u32() >>> 0) << 32n) | BigInt(this.#t.random.u32() >>> 0);
  }

  /** Sends a message; gives its transaction id. */
  send(message: CmMessage, options: CmSendOptions = {}): bigint {
    const transactionId = options.transactionId ?? this.transaction();
    const bytes = new Uint8Array(MAD_BYTES);
    writeCmMad(new DataView(bytes.buffer), 0, transactionId, message);
    this.sendMad(options.mad?.(bytes) ?? bytes, message.kind, options);
    return transactionId;
  }

  /** Sends bytes for a MAD; `comment` says what they are. */
  sendMad(payload: Uint8Array, comment: string, options: Pick<CmSendOptions, 'version' | 'packet'> = {}): void {
    const packet = {
      ...datagram({ psn: this.#psn++ & 0xff_ff_ff, qkey: GSI_QKEY, srcQpn: GSI_QPN, payload }),
      ...options.packet,
    };
    const frame = buildFrame(packet, this.route(options.version), GSI_QPN, 0);
    this.#t.dut.station.send(frame, `tx ${comment} in ${describePacket(packet)}`);
  }

  /**
   * The next message for an id of ours, whatever it is; undefined when none comes within the time (default: the
   * device's patience).
   */
  async next(id: number, withinNs = this.#t.dut.patienceNs): Promise<CmArrival | undefined> {
    const deadline = this.#t.now() + withinNs;
    for (;;) {
      const arrival = this.#queues.get(id)?.shift();
      if (arrival !== undefined) return arrival;
      if (!(await this.#pump(deadline))) return undefined;
    }
  }

  /**
   * The next message for an id of ours has to be of this kind. Passed over: repetitions of what was taken before, and
   * MRAs, which only ask to wait. @throws Violation when another comes, or none
   */
  async rx<K extends CmKind>(kind: K, id: number, withinNs?: number): Promise<CmArrival<K>> {
    for (;;) {
      const arrival = await this.next(id, withinNs);
      demand(arrival !== undefined, () => `${name(kind)} was expected, and nothing came`);
      const again = !this.#note(id, arrival);
      if (isKind(arrival, kind)) return arrival;
      if (isKind(arrival, 'REJ') && arrival.body.reason === CmRejReason.NoResources)
        throw new NotApplicable('the device has no room for another connection');
      const passed = arrival.kind === 'MRA' || (again && REPEATED.includes(arrival.kind));
      demand(passed, () => `${name(kind)} was expected, and ${describeArrival(arrival)} came`);
    }
  }

  /** The next REQ of the device to this service, waited for. @throws Violation when none comes */
  async request(serviceId: bigint, withinNs = this.#t.dut.patienceNs): Promise<CmArrival<'REQ'>> {
    const found = await this.nextRequest(serviceId, withinNs);
    demand(found !== undefined, () => `a REQ for service 0x${serviceId.toString(16)} was expected, and none came`);
    return found;
  }

  async nextRequest(serviceId: bigint, withinNs = this.#t.dut.patienceNs): Promise<CmArrival<'REQ'> | undefined> {
    const deadline = this.#t.now() + withinNs;
    for (;;) {
      const at = this.#requests.findIndex(({ body }) => body.serviceId === serviceId);
      if (at >= 0) return this.#requests.splice(at, 1)[0];
      if (!(await this.#pump(deadline))) return undefined;
    }
  }

  /** A request without a listener has to be refused: all that was sent before has been looked at then. */
  async sentinel(version?: 4 | 6): Promise<CmArrival<'REJ'>> {
    const id = this.id();
    const body = unknownServiceRequest(this.#t, this.route(version), id);
    this.send({ kind: 'REQ', body }, version === undefined ? {} : { version });
    const arrival = await this.next(id);
    demand(arrival !== undefined, 'the connection manager is silent: no answer to a REQ for an unknown service');
    demand(
      isKind(arrival, 'REJ'),
      () => `a REJ was expected for a REQ of an unknown service, and ${arrival.kind} came`,
    );
    return arrival;
  }

  /** What was sent before draws nothing for this id: proven by a sentinel, and by waiting a little longer. */
  async expectSilence(id: number, what: string, version?: 4 | 6): Promise<void> {
    await this.sentinel(version);
    for (;;) {
      const arrival = await this.next(id, this.#t.dut.quietNs);
      if (arrival === undefined) return;
      const again = !this.#note(id, arrival) && REPEATED.includes(arrival.kind);
      demand(again, () => `silence was expected for ${what}, and ${describeArrival(arrival)} came`);
    }
  }

  /** All that is there for an id, without waiting. */
  drain(id: number): CmArrival[] {
    for (const sighting of this.#inbox.drain()) this.#sort(sighting);
    return this.#queues.get(id)?.splice(0) ?? [];
  }

  /** False when the same was taken before. */
  #note(id: number, { sighting }: CmArrival): boolean {
    const taken = this.#taken.get(id) ?? new Set();
    this.#taken.set(id, taken);
    const text = String(sighting.packet.payload);
    if (taken.has(text)) return false;
    taken.add(text);
    return true;
  }

  async #pump(deadline: number): Promise<boolean> {
    const sighting = await this.#inbox.next(Math.max(0, deadline - this.#t.now()));
    if (sighting !== undefined) this.#sort(sighting);
    return sighting !== undefined;
  }

  #sort(sighting: Sighting): void {
    const { payload = NOTHING } = sighting.packet;
    const mad = parseCmMad(new DataView(payload.buffer, payload.byteOffset, payload.length), 0, payload.length);
    demand(typeof mad !== 'number', () => `a MAD was expected, and ${describePacket(sighting.packet)} came`);
    const { kind, body } = mad.message;
    const arrival = { kind, body, transactionId: mad.header.transactionId, sighting } as CmArrival;
    if (isKind(arrival, 'REQ')) this.#requests.push(arrival);
    else this.#queues.get(addressee(mad))?.push(arrival);
  }
}

export const isKind = <K extends CmKind>(arrival: CmArrival, kind: K): arrival is Extract<CmArrival, CmArrivalOf<K>> =>
  arrival.kind === kind;

/** A message in words. */
export function describeArrival(arrival: CmArrival): string {
  if (isKind(arrival, 'REJ')) return `REJ ${arrival.body.reason} (${cmRejReasonName(arrival.body.reason)})`;
  return name(arrival.kind);
}

/** A REJ of ours: the consumer does not want it. */
export const rejOf = (
  ids: { readonly localCommId: number; readonly remoteCommId: number },
  messageRejected: number,
  privateData: Uint8Array = NOTHING,
): CmMessage => ({
  kind: 'REJ',
  body: { ...ids, messageRejected, infoLength: 0, reason: CmRejReason.ConsumerDefined, info: NOTHING, privateData },
});

const name = (kind: CmKind): string =>
  kind === 'APR' || kind === 'MRA' || kind === 'RTU' ? `an ${kind}` : `a ${kind}`;

/** Which id of ours a message of the device is for. */
function addressee({ message }: CmMad): number {
  if (message.kind === 'SIDR_REP' || message.kind === 'SIDR_REQ') return message.body.requestId;
  return message.kind === 'REQ' ? 0 : message.body.remoteCommId;
}

/** What a device repeats by itself without an answer. */
const REPEATED: readonly CmKind[] = ['REQ', 'REP', 'DREQ', 'LAP', 'SIDR_REQ'];
const NOTHING = new Uint8Array(0);
