/**
 * Finds the conversation of a packet by addresses, destination queue pair and vantage point, without making a string.
 *
 * Owns the table: open addressing by a 32-bit hash, and a full comparison, so that equal hashes never mix
 * conversations. Entries are never removed, only redirected. Their number is bounded by that of the conversations.
 */
import type { Frame } from '../../../packets/frame.ts';
import { IPV4_SOURCE_AT } from '../../../packets/ipv4.ts';
import { IPV6_SOURCE_AT } from '../../../packets/ipv6.ts';
import type { Dissection } from '../../dissection.ts';
import type { Conversation } from './conversation.ts';

/** Packets that go one way between two addresses, to one queue pair. */
export class Flow {
  conversation: Conversation;
  /** The end of the conversation that sends them. */
  sender: 0 | 1;
  readonly hash: number;
  readonly vantage: number;
  readonly destQpn: number;
  /** Of a datagram; -1 for connected services. */
  readonly sourceQpn: number;
  readonly #version: number;
  /** As a dissection has them. */
  readonly #source: number;
  readonly #destination: number;
  /** Of source and destination; none over IPv4, where the numbers are the addresses. */
  readonly #words: Int32Array;

  constructor(packet: Dissection, key: FlowKey, hash: number, conversation: Conversation, sender: 0 | 1) {
    this.conversation = conversation;
    this.sender = sender;
    this.hash = hash;
    this.vantage = key.vantage;
    this.destQpn = key.destQpn;
    this.sourceQpn = key.sourceQpn;
    this.#version = packet.frame.ipVersion;
    this.#source = sourceOf(packet, key);
    this.#destination = destinationOf(packet, key);
    this.#words = new Int32Array(packet.frame.ipVersion === 4 ? 0 : 2 * IPV6_WORDS);
    for (let word = 0; word < this.#words.length; word++) {
      const far = word >= IPV6_WORDS !== key.reverse;
      this.#words[word] = packet.frame.view.getInt32(addressAt(packet.frame, far) + 4 * (word % IPV6_WORDS));
    }
  }

  is(packet: Dissection, key: FlowKey): boolean {
    if (this.destQpn !== key.destQpn || this.vantage !== key.vantage || this.sourceQpn !== key.sourceQpn) return false;
    if (this.#source !== sourceOf(packet, key) || this.#destination !== destinationOf(packet, key)) return false;
    const { frame } = packet;
    return this.#version === frame.ipVersion && (frame.ipVersion === 4 || this.#hasAddresses(frame, key));
  }

  #hasAddresses(frame: Frame, { reverse }: FlowKey): boolean {
    const { view } = frame;
    const source = addressAt(frame, reverse);
    const destination = addressAt(frame, !reverse);
    for (let word = 0; word < IPV6_WORDS; word++) {
      if (this.#words[word] !== view.getInt32(source + 4 * word)) return false;
      if (this.#words[IPV6_WORDS + word] !== view.getInt32(destination + 4 * word)) return false;
    }
    return true;
  }
}

/** What is looked for beside the addresses of a frame; filled anew for each look. */
export class FlowKey {
  vantage = 0;
  destQpn = 0;
  sourceQpn = -1;
  /** Packets in the direction against that of the frame. */
  reverse = false;

  set(vantage: number, destQpn: number, sourceQpn: number, reverse: boolean): this {
    this.vantage = vantage;
    this.destQpn = destQpn;
    this.sourceQpn = sourceQpn;
    this.reverse = reverse;
    return this;
  }
}

export class FlowTable {
  #slots: (Flow | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  #mask = FIRST_SLOTS - 1;
  #count = 0;

  find(packet: Dissection, key: FlowKey): Flow | undefined {
    const hash = hashOf(packet, key);
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const flow = this.#slots[slot];
      if (flow === undefined || (flow.hash === hash && flow.is(packet, key))) return flow;
    }
  }

  /** Points packets with this key to a conversation, whatever they belonged to before. */
  point(packet: Dissection, key: FlowKey, conversation: Conversation, sender: 0 | 1): Flow {
    const known = this.find(packet, key);
    if (known !== undefined) {
      known.conversation = conversation;
      known.sender = sender;
      return known;
    }
    const flow = new Flow(packet, key, hashOf(packet, key), conversation, sender);
    if (2 * ++this.#count > this.#slots.length) this.#grow();
    this.#put(flow);
    return flow;
  }

  #put(flow: Flow): void {
    let slot = flow.hash & this.#mask;
    while (this.#slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = flow;
  }

  #grow(): void {
    const flows = this.#slots;
    this.#slots = new Array(flows.length * 2).fill(undefined);
    this.#mask = this.#slots.length - 1;
    for (const flow of flows) if (flow !== undefined) this.#put(flow);
  }
}

/** Of the two addresses of a frame, the same in both directions, and of the vantage point. */
export function pairHash(frame: Frame, vantage: number): number {
  const { view, ipVersion } = frame;
  const source = addressAt(frame, false);
  const destination = addressAt(frame, true);
  let hash = vantage;
  for (let word = 0; word < (ipVersion === 4 ? 4 : 16); word += 4) {
    const one = view.getUint32(source + word);
    const other = view.getUint32(destination + word);
    // Both are symmetric; sum and product together distinguish most pairs.
    hash = mix(hash ^ (one + other), Math.imul(one | 1, other | 1));
  }
  return hash;
}

function hashOf(packet: Dissection, key: FlowKey): number {
  const hash = mix(key.destQpn, key.vantage ^ Math.imul(key.sourceQpn, 0x27_d4_eb_2f));
  return mix(hash ^ sourceOf(packet, key), destinationOf(packet, key));
}

function sourceOf({ source, destination }: Dissection, { reverse }: FlowKey): number {
  return reverse ? destination : source;
}

function destinationOf({ source, destination }: Dissection, { reverse }: FlowKey): number {
  return reverse ? source : destination;
}

function mix(one: number, other: number): number {
  let hash = Math.imul(one, 0x9e_37_79_b1);
  hash = Math.imul((hash ^ (hash >>> 15)) + other, 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}

function addressAt({ ipOffset, ipVersion }: Frame, destination: boolean): number {
  if (ipVersion === 4) return ipOffset + IPV4_SOURCE_AT + (destination ? 4 : 0);
  return ipOffset + IPV6_SOURCE_AT + (destination ? 16 : 0);
}

const FIRST_SLOTS = 256;
const IPV6_WORDS = 4;
