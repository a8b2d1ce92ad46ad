/**
 * What is seen on the wire of a run: a digest of every frame, the ICRC of each that an honest host sends, what goes to
 * the attacker, the newest frames for a ladder, and what an attacker on the path would know. Owns no verdict but
 * `problems`.
 */
import {
  BTH_BYTES,
  CRC32_INITIAL,
  crc32Update,
  Frame,
  FrameStatus,
  icrcMatches,
  Medium,
  Op,
  OpFlag,
  parseFrame,
} from 'rocev2/packets';
import { GSI_QPN, parseCmMad } from 'rocev2/packets/management';
import { ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4 } from 'rocev2/packets/network';
import { Fate, type NetworkTap, type SimulatedPort } from 'rocev2/sim';
import { LadderReader, type LadderStep, StepMark } from '../ladder/index.ts';
import { ATTACKER_MAC } from './addresses.ts';
import type { Sight } from './intruder.ts';
import { FORBIDDEN_BYTES } from './near-misses.ts';

interface Passed {
  readonly timeNs: number;
  readonly from: string;
  readonly fate: number;
  readonly bytes: Uint8Array;
}

export class Watch implements NetworkTap, Sight {
  readonly problems: string[] = [];
  /** Bytes and frames that honest hosts have sent to the attacker's MAC address. */
  readonly toAttacker = { frames: 0, bytes: 0 };
  /** Frames of honest hosts for replays; empty unless `keep`. */
  readonly frames: Uint8Array[] = [];
  ids: Sight['ids'];
  call: Sight['call'];
  readonly #keep: boolean;
  readonly #mtu: number;
  readonly #behind = new Map<number, number>();
  readonly #requests = new Map<number, number>();
  readonly #answers = new Map<number, number>();
  readonly #newest: Passed[] = [];
  readonly #frame = new Frame();
  #digest = CRC32_INITIAL;
  #kept = 0;

  /** `keep`: the attacker may replay what it has seen. `mtu`: of all queue pairs. */
  constructor(keep: boolean, mtu: number) {
    this.#keep = keep;
    this.#mtu = mtu;
  }

  /** Follows from every byte sent, in order. */
  get digest(): string {
    return (~this.#digest >>> 0).toString(16).padStart(8, '0');
  }

  /** Frames so far. */
  get sent(): number {
    return this.#kept;
  }

  request(qpn: number): number | undefined {
    return this.#requests.get(qpn);
  }

  answer(qpn: number): number | undefined {
    return this.#answers.get(qpn);
  }

  behind(qpn: number): number | undefined {
    return this.#behind.get(qpn);
  }

  frame(
    now: number,
    port: SimulatedPort,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
  ): void {
    if (direction !== 'out') return;
    this.#digest = crc32Update(this.#digest, bytes, start, end);
    this.#newest[this.#kept++ % LADDER_FRAMES] = { timeNs: now, from: port.name, fate, bytes: bytes.slice(start, end) };
    if (port.name === 'attacker') return;
    if (this.#isForAttacker(bytes, start)) {
      this.toAttacker.frames += 1;
      this.toAttacker.bytes += end - start;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!isAddressedWell(view, start)) this.problems.push(`${port.name} sent a frame to where none may go`);
    const frame = this.#frame;
    const status = parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
    if (frame.bthOffset < 0) return;
    if (status !== FrameStatus.Ok || !icrcMatches(frame)) {
      this.problems.push(`${port.name} sent a packet with a wrong ICRC`);
      return;
    }
    this.#note(frame);
    if (this.#keep) this.frames[this.frames.length % REPLAY_FRAMES] = bytes.slice(start, end);
  }

  /** The newest frames, as steps of a ladder: the first host on the left, the second and the attacker on the right. */
  ladder(): LadderStep[] {
    const reader = new LadderReader();
    const first = this.#kept <= LADDER_FRAMES ? 0 : this.#kept % LADDER_FRAMES;
    return [...this.#newest.slice(first), ...this.#newest.slice(0, first)].map(({ timeNs, from, fate, bytes }) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const marks = (fate & Fate.Dropped) === 0 ? 0 : StepMark.Lost;
      return reader.read({ timeNs, fromLeft: from === 'a', marks, bytes, view, start: 0, end: bytes.length });
    });
  }

  #note(frame: Frame): void {
    const { view, destQpn, psn, opcode, bthOffset, payloadOffset, payloadLength } = frame;
    if (destQpn === GSI_QPN) {
      const mad = parseCmMad(view, payloadOffset, payloadLength);
      if (typeof mad === 'number') return;
      const { message } = mad;
      if (message.kind === 'REQ') this.call = message.body.localCommId;
      if (message.kind === 'REP') this.ids = { caller: message.body.remoteCommId, listener: message.body.localCommId };
    } else if ((frame.flags & OpFlag.Response) !== 0) {
      this.#answers.set(destQpn, psn);
      if (opcode === Op.ReadResponseLast && payloadLength === FORBIDDEN_BYTES)
        this.problems.push('a READ was answered that had to be refused');
    } else {
      const asked = opcode === Op.ReadRequest ? view.getUint32(bthOffset + BTH_BYTES + 12) : 0;
      this.#requests.set(destQpn, psn);
      this.#behind.set(destQpn, psn + Math.max(1, Math.ceil(asked / this.#mtu)));
    }
  }

  #isForAttacker(bytes: Uint8Array, start: number): boolean {
    for (let i = 0; i < 6; i++) if (bytes[start + i] !== ATTACKER_MAC[i]) return false;
    return true;
  }
}

/** To a host of the link; to a group only what belongs there: solicitations, reports, and datagrams to the group. */
function isAddressedWell(view: DataView, start: number): boolean {
  const isGroup = (view.getUint8(start) & 1) !== 0;
  const etherType = view.getUint16(start + 12);
  const ip = start + ETHERNET_BYTES;
  if (etherType === ETHERTYPE_ARP) return true;
  if (etherType === ETHERTYPE_IPV4) {
    const [network, host] = [view.getUint16(ip + 16), view.getUint16(ip + 18)];
    if (isGroup) return network >>> 12 === 0xe && (view.getUint8(ip + 9) === IGMP || network === 0xef_01);
    return network === 0x0a_00 && host > 0 && host < 255;
  }
  if (isGroup)
    return view.getUint8(ip + 24) === 0xff && (view.getUint8(ip + 6) !== UDP || view.getUint8(ip + 25) === 0x3e);
  return view.getUint8(ip + 24) !== 0xff && view.getUint32(ip + 24) !== 0;
}

const IGMP = 2;
const UDP = 17;
const LADDER_FRAMES = 80;
const REPLAY_FRAMES = 64;
