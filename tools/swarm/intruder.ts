/**
 * The attacker: a machine beside the honest hosts that sends forged frames at a steady rate. What it may use is what
 * the scenario says that it knows: the marks, PSNs and captured frames of this file are empty where it does not.
 * Owns the choice of every frame.
 */
import type { Host, IpAddress, Machine, Qp } from 'rocev2';
import {
  type CmMessage,
  CmRejReason,
  type FrameWriter,
  GSI_QKEY,
  type MacAddress,
  Medium,
  Op,
  parseMac,
  writeCmMad,
} from 'rocev2/packets';
import * as kit from 'rocev2/packets/kit';
import type { Prng } from 'rocev2/sim';
import { type Claim, groupQuery, neighbourClaim, tcpFrame } from './bytes.ts';
import { requestMad } from './request-mad.ts';
import { type Act, pick, type Scenario } from './scenario.ts';

export const ATTACKER_MAC = parseMac('02:66:66:66:66:66');

/** A queue pair that may be attacked, and the honest peer it hears. */
export interface Mark {
  readonly victim: { readonly mac: MacAddress; readonly address: IpAddress };
  readonly peer: IpAddress;
  readonly qp: Qp;
  readonly uc: boolean;
  readonly qkey: number;
  readonly keys: readonly { readonly rkey: number; readonly va: bigint; readonly length: number }[];
}

/** What is seen of the honest hosts' packets: the newest PSN to a queue pair, of requests and of answers. */
export interface Sight {
  request(qpn: number): number | undefined;
  answer(qpn: number): number | undefined;
  /** Frames of the honest hosts, some of the newest. */
  readonly frames: readonly Uint8Array[];
}

export class Intruder implements Machine {
  readonly marks: Mark[] = [];
  readonly sent = { frames: 0, bytes: 0 };
  /** Frames sent in the attacker's own name: whose address or MAC address answers go to. */
  readonly own = { frames: 0, bytes: 0 };
  readonly #host: Host;
  readonly #random: Prng;
  readonly #scenario: Scenario;
  readonly #address: IpAddress;
  readonly #sight: Sight;
  #left = 0;
  #at = 0;

  constructor(host: Host, random: Prng, scenario: Scenario, address: IpAddress, sight: Sight) {
    this.#host = host;
    this.#random = random;
    this.#scenario = scenario;
    this.#address = address;
    this.#sight = sight;
  }

  start(): void {
    this.#left = this.#scenario.attack.frames;
    this.#at = this.#host.now();
    this.#host.wake();
  }

  stop(): void {
    this.#left = 0;
  }

  receive(): void {}

  transmit(writer: FrameWriter): boolean {
    for (; this.#left > 0 && this.#at <= this.#host.now(); this.#left--) {
      if (writer.full) return true;
      const frame = this.#next();
      writer.appendRaw(frame, 0, frame.length);
      this.sent.frames += 1;
      this.sent.bytes += frame.length;
      this.#at += this.#scenario.attack.everyNs;
    }
    return false;
  }

  nextDeadline(): number {
    return this.#left > 0 ? this.#at : Infinity;
  }

  handleTimeouts(): void {
    this.#host.wake();
  }

  #next(): Uint8Array {
    const mark = pick(this.#random, this.marks);
    const asItself = this.#random.chance(0.3);
    const source = asItself ? this.#address : mark.peer;
    const frame = this.#frameOf(pick(this.#random, this.#scenario.attack.acts), mark, source, asItself);
    if (asItself) this.#count(frame);
    return frame;
  }

  #frameOf(act: Act, mark: Mark, source: IpAddress, asItself: boolean): Uint8Array {
    const random = this.#random;
    const { mac: destMac, address: destination } = mark.victim;
    const claim: Claim = { sourceMac: ATTACKER_MAC, destMac, source, destination };
    switch (act) {
      case 'neighbours':
        if (!asItself) this.#count(NEIGHBOUR_FRAME);
        return neighbourClaim(claim, random.chance(0.5));
      case 'tcp':
        return tcpFrame(
          claim,
          [1 + random.below(65_535), 7471 + random.below(2)],
          random.u32(),
          pick(random, [2, 4, 16, 20]),
        );
      case 'groups':
        return groupQuery(claim);
      case 'cm-requests':
        return this.#mad(mark, source, requestMad(random, source, destination));
      case 'cm-answers':
        return this.#mad(mark, source, madOf(this.#answer(mark)));
      case 'replays':
        if (this.#sight.frames.length > 0) return fromAttacker(pick(random, this.#sight.frames));
        return this.#roce(this.#packet('requests', mark), mark, source);
      case 'odd-sources':
        return this.#roce(this.#packet('requests', mark), mark, source, pick(random, ODD[destination.version]));
      case 'broken':
        return this.#roce({ ...this.#packet(pick(random, PACKETS), mark), ...this.#damage() }, mark, source);
      default:
        return this.#roce(this.#packet(act, mark), mark, source);
    }
  }

  #packet(act: (typeof PACKETS)[number], mark: Mark): kit.Packet {
    const random = this.#random;
    const psn = this.#psn(mark, act === 'requests' ? 'request' : 'answer');
    const payload = kit.pattern(random.below(this.#scenario.mtu + 1), random.below(256));
    const msn = random.u32() >>> 8;
    if (act === 'acks') return kit.ack({ psn, msn });
    if (act === 'naks') return kit.nak(pick(random, [0x60, 0x61, 0x62, 0x63, 0x20, 0x21]), { psn, msn });
    if (act === 'cnps') return kit.cnp();
    if (act === 'read-responses')
      return random.chance(0.2)
        ? kit.atomicAck({ psn, msn, original: 7n })
        : kit.request(pick(random, READ_RESPONSES), { psn, msn, payload });
    return this.#request(mark, psn, payload);
  }

  #request(mark: Mark, psn: number, payload: Uint8Array): kit.Packet {
    const random = this.#random;
    const knowsKeys = this.#scenario.attack.knowledge === 'everything';
    const known = mark.keys.length > 0 && knowsKeys ? pick(random, mark.keys) : undefined;
    const near = pick(random, mark.keys.length > 0 ? mark.keys : [{ rkey: 0, va: 0n, length: 0 }]);
    // Around both ends of the region, where it is known; a key that is one bit off, where it is not.
    const rkey = known?.rkey ?? (near.rkey ^ (1 << random.below(32))) >>> 0;
    const edge = BigInt(random.chance(0.5) ? near.length - payload.length : 0) + BigInt(random.below(5) - 2);
    const va = BigInt.asUintN(64, near.va + edge);
    const length = random.chance(0.2) ? random.u32() : payload.length;
    const packet = kit.request(pick(random, mark.uc ? UC_REQUESTS : REQUESTS), {
      ...{ psn, payload, ackReq: random.chance(0.5), reth: { va, rkey, length } },
      ...{ imm: 1, inv: rkey, srcQpn: 77, qkey: knowsKeys ? mark.qkey : random.u32() },
      atomic: { va: va - (va % 8n), rkey, swapAdd: 1n, compare: 0n },
    });
    return mark.uc ? kit.uc(packet) : packet;
  }

  /** What is known of the PSN; a blind attacker's is never right, as good as always. */
  #psn(mark: Mark, of: 'request' | 'answer'): number {
    const random = this.#random;
    const { knowledge, psnBits } = this.#scenario.attack;
    const newest = this.#sight[of](mark.qp.qpn) ?? this.#scenario.firstPsn;
    if (knowledge === 'everything') return newest + random.below(3) - 1;
    if (knowledge === 'psns') return newest + random.below(2 ** (psnBits + 1)) - 2 ** psnBits;
    return newest + BLIND + random.below(2 ** 24 - 2 * BLIND);
  }

  #damage(): Partial<kit.Packet> {
    const random = this.#random;
    const at = random.u32();
    const flip = ({ bytes, ip }: kit.Draft): undefined => {
      const where = ip + (at % (bytes.length - ip));
      bytes[where] = (bytes[where] ?? 0) ^ (1 << (at >>> 29));
    };
    switch (random.below(4)) {
      case 0:
        return { spoil: ({ bytes }) => bytes.slice(0, 1 + (at % bytes.length)) };
      case 1:
        return { spoil: flip };
      case 2:
        return { pad: random.below(4), reserved6: random.below(64), tver: random.below(2) };
      default:
        return { opcode: random.below(256) };
    }
  }

  #answer({ qp }: Mark): CmMessage {
    const random = this.#random;
    const [localCommId, remoteCommId] = [random.u32(), random.u32()];
    const privateData = new Uint8Array(0);
    const ids = { localCommId, remoteCommId, privateData };
    const kind = pick(random, ['RTU', 'DREQ', 'DREP', 'REJ', 'REP'] as const);
    if (kind === 'DREQ') return { kind, body: { ...ids, remoteQpn: qp.qpn } };
    if (kind === 'REJ')
      return {
        kind,
        body: { ...ids, messageRejected: 0, infoLength: 0, reason: CmRejReason.InvalidCommId, info: privateData },
      };
    if (kind !== 'REP') return { kind, body: ids };
    const counts = { responderResources: 1, initiatorDepth: 1, targetAckDelay: 0, failoverAccepted: 0 };
    const rest = { endToEndFlowControl: 0, rnrRetryCount: 7, srq: 0, localCaGuid: 0x66n } as const;
    const numbers = { localQkey: 0, localQpn: 77, localEecn: 0, startingPsn: 0, vendorId: 0 };
    return { kind, body: { ...ids, ...numbers, ...counts, ...rest } };
  }

  #mad(mark: Mark, source: IpAddress, mad: Uint8Array): Uint8Array {
    const packet = kit.datagram({ psn: 0, payload: mad, qkey: GSI_QKEY, srcQpn: 1 });
    return this.#roce({ ...packet, destQpn: 1 }, mark, source);
  }

  #roce(packet: kit.Packet, { victim, qp }: Mark, source: IpAddress, claimed?: string): Uint8Array {
    const knowsQpn = this.#scenario.attack.knowledge !== 'addresses';
    const route = {
      ...{ medium: Medium.Ethernet, sourceMac: ATTACKER_MAC, destMac: victim.mac, source },
      ...{ destination: victim.address, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 },
    };
    // The kit counts IPv4 identifications over all runs; here they follow from the run alone.
    const id = this.sent.frames;
    const edit = ({ view, ip, udp }: kit.Draft): undefined => {
      if (udp - ip === 20) view.setUint16(ip + 4, id);
    };
    const whole = { ...packet, edit, ...(claimed === undefined ? {} : { source: claimed }) };
    return kit.buildFrame(whole, route, knowsQpn ? qp.qpn : 2 + this.#random.below(2 ** 24 - 3), 0);
  }

  #count(frame: { readonly length: number }): void {
    this.own.frames += 1;
    this.own.bytes += frame.length;
  }
}

/** A copy with the attacker's MAC address: with the host's own one the switch would send to the attacker. */
function fromAttacker(frame: Uint8Array): Uint8Array {
  const copy = frame.slice();
  copy.set(ATTACKER_MAC, 6);
  return copy;
}

function madOf(message: CmMessage): Uint8Array {
  const bytes = new Uint8Array(256);
  writeCmMad(new DataView(bytes.buffer), 0, 1n, message);
  return bytes;
}

/** Farther from the right PSN than all that is under way. */
const BLIND = 4096;
/** An ARP frame, in bytes. */
const NEIGHBOUR_FRAME = { length: 60 };
const PACKETS = ['requests', 'acks', 'naks', 'read-responses', 'cnps'] as const;
const READ_RESPONSES = [Op.ReadResponseFirst, Op.ReadResponseMiddle, Op.ReadResponseLast, Op.ReadResponseOnly];
const UC_REQUESTS = [Op.SendFirst, Op.SendOnly, Op.SendLast, Op.WriteFirst, Op.WriteMiddle, Op.WriteLast, Op.WriteOnly];
const REQUESTS = [
  ...UC_REQUESTS,
  ...[Op.ReadRequest, Op.FetchAdd, Op.CompareSwap, Op.SendOnlyInvalidate, Op.WriteOnlyImm, Op.UdSendOnly],
];
const ODD = {
  4: ['255.255.255.255', '10.0.0.255', '224.0.0.1', '0.0.0.0', '127.0.0.1'],
  6: ['ff02::1', '::', '::1', 'ff05::2'],
} as const;
