/**
 * The attacker: a machine beside the honest hosts that sends forged frames at a steady rate. What it may use is what
 * the scenario says that it knows: the marks, PSNs and captured frames of this file are empty where it does not.
 * Owns the choice of every frame.
 */
import type { Host, IpAddress, Machine, Qp } from 'rocev2';
import { type FrameWriter, type MacAddress, Medium, Op } from 'rocev2/packets';
import * as kit from 'rocev2/packets/kit';
import { type CmMessage, CmRejReason, GSI_QKEY } from 'rocev2/packets/management';
import type { Prng } from 'rocev2/sim';
import { ATTACKER_MAC, addressOf } from './addresses.ts';
import { type Claim, groupQuery, neighbourClaim, tcpFrame } from './bytes.ts';
import type { Traps } from './flow.ts';
import { falseRep, madOf, requestMad } from './mads.ts';
import { type Aim, isShot, type Shot, shoot } from './near-misses.ts';
import { type Act, pick, type Scenario } from './scenario.ts';

/** A queue pair that may be attacked, and the honest peer it hears. */
export interface Mark {
  readonly victim: { readonly mac: MacAddress; readonly address: IpAddress };
  readonly peer: IpAddress;
  readonly peerGuid: bigint;
  readonly qp: Qp;
  readonly peerQp: Qp;
  /** Data comes from the peer in requests of RC or UC, and not in datagrams. */
  readonly connected: boolean;
  readonly uc: boolean;
  readonly cm: boolean;
  readonly traps: Traps | undefined;
  readonly qkey: number;
  readonly keys: readonly { readonly rkey: number; readonly va: bigint; readonly length: number }[];
}

/** What is seen of the honest hosts' packets: the newest PSN to a queue pair, of requests and of answers. */
export interface Sight {
  request(qpn: number): number | undefined;
  answer(qpn: number): number | undefined;
  /** The PSN behind the newest request to this queue pair. */
  behind(qpn: number): number | undefined;
  /** Communication ids of the newest connection, of the side that called and of the other. */
  readonly ids: { readonly caller: number; readonly listener: number } | undefined;
  /** Communication id of the newest call. */
  readonly call: number | undefined;
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

  /** The part of all frames that is still to be sent, 0 to 1. */
  get remaining(): number {
    return this.#left === 0 ? 0 : this.#left / this.#scenario.attack.frames;
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
    const { acts, misses, violations } = this.#scenario.attack;
    const act = pick<Act | Shot>(this.#random, [...acts, ...misses, ...violations]);
    const aimed = isShot(act) ? this.#shot(act, mark) : undefined;
    if (aimed !== undefined) return aimed;
    const frame = this.#frameOf(isShot(act) ? pick(this.#random, acts) : act, mark, source, asItself);
    if (asItself) this.#count(frame);
    return frame;
  }

  /** With what a sniffer knows, whatever this attacker knows otherwise; undefined where the mark is none for it. */
  #shot(shot: Shot, mark: Mark): Uint8Array | undefined {
    if (!(shot.startsWith('cm-') ? mark.cm : mark.connected)) return undefined;
    const packet = shoot(shot, this.#aim(mark), this.#random);
    if (packet === undefined) return undefined;
    const frame = this.#roce({ destQpn: mark.qp.qpn, ...packet }, mark, mark.peer);
    if (packet.source !== undefined) this.#count(frame);
    return frame;
  }

  #aim({ qp, peerQp, uc, victim, peer, peerGuid, traps }: Mark): Aim {
    const { mtu, firstPsn } = this.#scenario;
    const { ids, call } = this.#sight;
    return {
      ...{ qpn: qp.qpn, peerQpn: peerQp.qpn, uc, mtu, peer, peerGuid, traps, own: this.#address },
      ...{ victim: victim.address, expected: this.#sight.behind(qp.qpn) ?? firstPsn },
      requested: this.#sight.request(peerQp.qpn),
      call: ids === undefined && traps === undefined ? call : undefined,
      // The target of a flow listens.
      ids: ids && (traps === undefined ? idsOf(ids.caller, ids.listener) : idsOf(ids.listener, ids.caller)),
    };
  }

  #frameOf(act: Act, mark: Mark, source: IpAddress, asItself: boolean): Uint8Array {
    const random = this.#random;
    const { mac: destMac, address: destination } = mark.victim;
    if (FROM_ANYBODY.includes(act) && random.chance(0.3)) {
      source = addressOf(100 + random.below(100), destination.version);
      if (!asItself) this.#count(NEIGHBOUR_FRAME);
    }
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
          pick(random, [2, 2, 2, 4, 16, 20]),
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
        if (random.chance(0.5)) {
          const mad = requestMad(random, source, destination);
          return this.#mad(mark, source, mad, pick(random, ODD[destination.version]));
        }
        return this.#roce(this.#packet('requests', mark), mark, source, pick(random, ODD[destination.version]));
      case 'broken':
        return this.#roce({ ...this.#packet(pick(random, PACKETS), mark), ...this.#damage(mark) }, mark, source);
      default:
        return this.#roce(this.#packet(act, mark), mark, source);
    }
  }

  #packet(act: (typeof PACKETS)[number], mark: Mark): kit.Packet {
    const random = this.#random;
    const psn = this.#psn(mark, act === 'requests' ? 'request' : 'answer');
    const payload = PAYLOAD.subarray(0, random.below(this.#scenario.mtu + 1));
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

  #damage(mark: Mark): Partial<kit.Packet> {
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
        // A CNP has PSN 0, which as that of a request may be the right one.
        return { opcode: random.below(256), psn: this.#psn(mark, 'request') };
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
    return falseRep(random, remoteCommId);
  }

  #mad(mark: Mark, source: IpAddress, mad: Uint8Array, claimed?: string): Uint8Array {
    const packet = kit.datagram({ psn: 0, payload: mad, qkey: GSI_QKEY, srcQpn: 1 });
    return this.#roce({ ...packet, destQpn: 1 }, mark, source, claimed);
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

const idsOf = (victim: number, peer: number): Aim['ids'] => ({ victim, peer });

const PAYLOAD = kit.pattern(4096);
/** Farther from the right PSN than all that is under way. */
const BLIND = 4096;
/** What strangers say whom nobody has to know. */
const FROM_ANYBODY: readonly Act[] = ['cm-requests', 'tcp', 'neighbours'];
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
