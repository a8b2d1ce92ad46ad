/**
 * One packet on its way, and its faults. Owns the record and the changing of its bytes; knows no time and no queue.
 *
 * What is done to a packet takes effect where its last hop ends, whenever it was asked for. So it makes no difference
 * whether an intervention was known when the packet left or came while it was under way, and a link replays what a hand
 * did.
 */
import { Frame, Medium, parseFrame } from 'rocev2/packets';
import { markCongestion, type Prng } from 'rocev2/sim';
import type { HostLinkSpec, Intervention, PacketAction } from './scenario.ts';

/** Where a packet is. */
export type FlightState = 'flying' | 'delivered' | 'lost';

/** One frame, from the moment its host puts it on the wire. */
export class Flight {
  /** Number among all packets of the session, from 1; copies have numbers of their own. */
  readonly serial: number;
  /** Who sends it. */
  readonly from: number;
  /** Host it goes to, for a packet to a group the first that is not its sender; -1: no host has the address. */
  readonly to: number;
  /** Its number among the packets that its host sends, from 1; a copy has that of its original. */
  readonly packet: number;
  readonly sentNs: number;
  /** The frame as its host sent it. */
  readonly bytes: Uint8Array;
  /** The serial number of the original; 0: it is none itself. */
  readonly copyOf: number;
  state: FlightState = 'flying';
  /**
   * When it arrives if nothing more is done to it; Infinity while it waits in a queue. Once it is over: when it was.
   */
  arrivesNs = Infinity;
  /** As it arrived, where that differs from `bytes`. */
  arrivedBytes: Uint8Array | undefined = undefined;
  /** Why it is lost. */
  lossReason: '' | 'dropped' | 'queue full' | 'no such host' = '';
  /** Goes to a multicast group: the switch makes copies for all other hosts. */
  isToGroup = false;
  /** The network marked it Congestion Experienced. */
  marked = false;
  /** The faults it gets at the end of its way, by chance or by hand. */
  readonly fate: Intervention[] = [];
  /** The cable on which it came to the switch it is in; see `pauses.ts`. */
  cable = 0;
  /** `delay` was carried out. */
  delayed = false;

  constructor(init: Pick<Flight, 'serial' | 'from' | 'to' | 'packet' | 'sentNs' | 'bytes'>, copyOf = 0) {
    this.serial = init.serial;
    this.from = init.from;
    this.to = init.to;
    this.packet = init.packet;
    this.sentNs = init.sentNs;
    this.bytes = init.bytes;
    this.copyOf = copyOf;
  }

  /** The bytes that arrive, or have arrived. */
  get lastBytes(): Uint8Array {
    return this.arrivedBytes ?? this.bytes;
  }

  /** Whether `action` is to be done to it, or was done. */
  meets(action: PacketAction): Intervention | undefined {
    return this.fate.find((one) => one.action === action);
  }

  /** Sets both ECN bits; nothing happens to a packet that is not ECN-capable. */
  mark(): void {
    this.marked = this.#change((bytes, view) => markCongestion(view, 0, bytes.length, Medium.Ethernet)) || this.marked;
  }

  /** Flips the lowest bit of the last byte that the ICRC covers. */
  corrupt(): void {
    this.#change((bytes, view) => {
      parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, PARSED);
      const at = (PARSED.icrcOffset > 0 ? PARSED.icrcOffset : bytes.length) - 1;
      view.setUint8(at, view.getUint8(at) ^ 1);
      return true;
    });
  }

  #change(change: (bytes: Uint8Array, view: DataView) => boolean): boolean {
    const bytes = this.lastBytes.slice();
    const changed = change(bytes, new DataView(bytes.buffer));
    if (changed) this.arrivedBytes = bytes;
    return changed;
  }
}

/**
 * The random faults of the next packet of a host. Draws the same count of random numbers for each packet, so that a
 * fault set by hand does not change those of later packets.
 */
export function drawFate(random: Prng, link: HostLinkSpec, host: number, packet: number): Intervention[] {
  const fate: Intervention[] = [];
  for (const [action, name] of CHANCES) {
    const drawn = random.u32() / TWO_POW_32;
    if (drawn < link[name]) fate.push({ host, packet, action });
  }
  return fate;
}

/** Whether this is to be done to that packet. */
export function isFor({ host, packet }: Intervention, flight: Flight): boolean {
  return host === flight.from && packet === flight.packet;
}

/** How long a cable is busy with a frame, in nanoseconds. */
export function sendingTime(bytes: number, rateBps: number): number {
  return Math.max(1, Math.ceil((8e9 * bytes) / rateBps));
}

/**
 * The host that a frame is for, of so many; -1: none of them. MAC addresses end with the number of their host, from 1,
 * as `attachDevice` makes them.
 */
export function hostOfFrame(bytes: Uint8Array, start: number, hosts: number): number {
  const own = bytes[start] === LOCAL_MAC && MAC_ZEROS.every((at) => bytes[start + at] === 0);
  const host = (bytes[start + MAC_LAST] ?? 0) - 1;
  return own && host >= 0 && host < hosts ? host : -1;
}

/** Whether a frame is for a group: the lowest bit of the first byte of a MAC address. */
export function isGroupFrame(bytes: Uint8Array, start: number): boolean {
  return ((bytes[start] ?? 0) & 1) === 1;
}

const CHANCES = [
  ['drop', 'loss'],
  ['corrupt', 'corrupt'],
  ['duplicate', 'duplicate'],
  ['delay', 'reorder'],
  ['mark', 'mark'],
] as const satisfies readonly (readonly [PacketAction, keyof HostLinkSpec])[];
const LOCAL_MAC = 0x02;
const MAC_ZEROS = [1, 2, 3, 4];
const MAC_LAST = 5;
const TWO_POW_32 = 0x1_00_00_00_00;
/** Filled and read within one call. */
const PARSED = new Frame();
