/**
 * Watches a simulated wire and counts what passes through the end of its number space: PSNs behind 2^24 - 1, TCP
 * sequence numbers behind 2^32 - 1, and how often communication ids come again. Owns the counts. Sees frames as they
 * are sent, before any fault.
 */
import { Frame, FrameStatus, Medium, OPCODE_FLAGS, OpFlag, PSN_MASK, parseFrame } from 'rocev2/packets';
import { parseCmMad } from 'rocev2/packets/management';

export class Odometer {
  frames = 0;
  /** Times that a requester sent PSN 0 right behind PSN 2^24 - 1; retransmissions of both count again. */
  psnWraps = 0;
  /** Times that a TCP connection went on behind sequence number 2^32 - 1. */
  tcpWraps = 0;
  /** REQ, REP and SIDR REQ: each brings a communication id. */
  idsSent = 0;
  /** Different ids among them. */
  readonly ids = new Set<number>();
  /** What must never be on the wire. */
  readonly faults: string[] = [];
  readonly #frame = new Frame();
  /** Last PSN sent, by destination queue pair and sender. */
  readonly #psns = new Map<number, number>();
  /** Last sequence number sent, by both ports and sender. */
  readonly #sequences = new Map<number, number>();
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** For `SimulatedNetwork.tap`. */
  tap(direction: 'out' | 'in', bytes: Uint8Array, start: number, end: number): void {
    if (direction !== 'out') return;
    this.frames += 1;
    if (this.#view.buffer !== bytes.buffer) this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const view = this.#view;
    const sender = bytes[start + LAST_OF_SOURCE_MAC] ?? 0;
    if (view.getUint16(start + ETHERTYPE_AT) === IPV4 && bytes[start + PROTOCOL_AT] === TCP) this.#tcp(start, sender);
    const frame = this.#frame;
    if (parseFrame(bytes, view, start, end, Medium.Ethernet, frame) !== FrameStatus.Ok) return;
    if (frame.destQpn === GSI) this.#mad();
    else if (((OPCODE_FLAGS[frame.opcode] ?? 0) & OpFlag.Request) !== 0) this.#request(sender);
  }

  #request(sender: number): void {
    const { destQpn, psn } = this.#frame;
    if (destQpn === 0) this.faults.push('a request to queue pair 0');
    const key = sender * 2 ** 24 + destQpn;
    if (psn === 0 && this.#psns.get(key) === PSN_MASK) this.psnWraps += 1;
    this.#psns.set(key, psn);
  }

  #mad(): void {
    const { view, payloadOffset, payloadLength } = this.#frame;
    const mad = parseCmMad(view, payloadOffset, payloadLength);
    if (typeof mad === 'number') {
      this.faults.push(`a MAD that does not parse: ${mad}`);
      return;
    }
    const { kind, body } = mad.message;
    if (kind === 'SIDR_REQ') this.#id(body.requestId);
    else if (kind === 'REQ' || kind === 'REP') this.#id(body.localCommId);
  }

  #id(id: number): void {
    if (id === 0) this.faults.push('communication id 0');
    this.idsSent += 1;
    this.ids.add(id);
  }

  #tcp(start: number, sender: number): void {
    const view = this.#view;
    const key = sender * 2 ** 32 + view.getUint32(start + TCP_AT);
    const sequence = view.getUint32(start + TCP_AT + 4);
    const isSyn = (view.getUint8(start + TCP_AT + 13) & 2) !== 0;
    const before = this.#sequences.get(key) ?? 0;
    if (!isSyn && before >= 0xff_00_00_00 && sequence < 0x01_00_00_00) this.tcpWraps += 1;
    this.#sequences.set(key, sequence);
  }
}

const GSI = 1;
const LAST_OF_SOURCE_MAC = 11;
const ETHERTYPE_AT = 12;
const IPV4 = 0x0800;
const PROTOCOL_AT = 23;
const TCP = 6;
/** Behind Ethernet and an IPv4 header without options. */
const TCP_AT = 34;
