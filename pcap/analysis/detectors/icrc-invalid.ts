/**
 * Symptom: packets with a wrong ICRC. Receivers drop them silently, so the sender gets no response.
 *
 * Owns four findings:
 * - all packets of a sender are wrong (3 or more, since two may be chance), or are wrong in a way that a known mistake
 *   explains: an error;
 * - the same, but peers respond: a note. The capture then differs from the wire (anonymized addresses, an ICRC that the
 *   NIC inserts after the capture point), or the receiver does not check;
 * - some packets are wrong among right ones: damage, a warning, since each of them costs a retransmission; a note as
 *   above where most of them were acknowledged, and not sent again before: no receiver accepts damage;
 * - a host sends something else to this port: a note.
 * A FLUSH with the ICRC of rdma_rxe is a note.
 * Rules: ref:wire#3 (recipe, known mistakes), ref:analyzer#1 row 12, packets/rxe-flush-icrc.ts.
 */
import { IpAddress } from '../../../packets/address.ts';
import { type Frame, FrameStatus, frameSource } from '../../../packets/frame.ts';
import { IPV4_DESTINATION_AT, IPV4_SOURCE_AT } from '../../../packets/ipv4.ts';
import { IPV6_DESTINATION_AT, IPV6_SOURCE_AT } from '../../../packets/ipv6.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { isRxeFlush } from '../../../packets/rxe-flush-icrc.ts';
import { type Dissection, IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { AskedPsns, isGoodAnswer } from './asked-psns.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { damagedPart, type Explanation, explain } from './icrc/explain.ts';
import { type IcrcSample, sampleOf } from './icrc/sample.ts';
import { counted, grouped } from './words.ts';

export const ICRC_INVALID: Symptom = {
  id: 'icrc-invalid',
  row: 12,
  title: 'Wrong ICRC',
  complaint:
    'There is no response, though packets arrive; hardware counts them as rx_icrc_encapsulated and reports nothing.',
  about:
    'The invariant CRC at the end of every packet covers what no router may change, addresses and ports among it. A receiver that finds it ' +
    'wrong drops the packet silently. All packets of one sender wrong means that it computes the ICRC in another way, or that something on the ' +
    'path rewrites what the ICRC covers. A few wrong ones among right ones mean damage on the way.',
  advice: [
    'Compare captures of both ends of the path: where the ICRC is right at the sender, the path changes packets.',
  ],
  commands: [
    'ethtool -S DEV | grep -i icrc',
    'ethtool -k DEV',
    'rdma statistic show link DEV/1',
    'iptables -t nat -L -n -v',
  ],
  explains: ['retry-exceeded', 'no-reply'],
  make: () => new IcrcInvalid(),
};

class Sender {
  readonly address: IpAddress;
  good = 0;
  readonly bad = new FrameList();
  readonly conversations = new Set<number>();
  readonly samples: IcrcSample[] = [];
  /** Its requests with a wrong ICRC. */
  readonly requests = new AskedPsns();
  /** Of packets with a wrong ICRC; no more than `MOST_PKEYS`. */
  readonly pkeys = new Set<number>();
  /** Packets of which the capture has no ICRC. */
  unchecked = 0;
  /** Packets to the port of RoCEv2 that have no BTH. */
  foreign = 0;

  constructor(address: IpAddress) {
    this.address = address;
  }
}

class IcrcInvalid implements Detector {
  readonly #senders = new Map<number, Sender>();
  readonly #rxeFlushes = new FrameList();
  #anyAsked = false;
  /** The senders of the two packets before: most packets are from the same two. */
  #lastKey = 0;
  #last: Sender | undefined;
  #beforeKey = 0;
  #before: Sender | undefined;

  packet({ icrc, dissection, packet, conversation }: PacketFacts): void {
    const { frame, status } = dissection;
    if (status === FrameStatus.BadTransportVersion || status === FrameStatus.UnknownOpcode) this.#foreign(frame);
    if (status !== FrameStatus.Ok) return;
    const sender = this.#senderOf(dissection);
    if (sender === undefined) return;
    if (icrc === IcrcState.Unknown) {
      sender.unchecked++;
      return;
    }
    const id = conversation?.id ?? 0;
    if (this.#anyAsked && isGoodAnswer(frame)) this.#answers(frame, id);
    if (icrc === IcrcState.Good) {
      sender.good++;
      if (this.#anyAsked && (frame.flags & OpFlag.Request) !== 0) sender.requests.sentAgain(frame.psn, id);
      return;
    }
    if (isRxeFlush(frame)) {
      this.#rxeFlushes.add(packet.number);
      return;
    }
    if (isBlank(frame)) {
      sender.foreign++;
      return;
    }
    sender.bad.add(packet.number);
    if (sender.pkeys.size < MOST_PKEYS) sender.pkeys.add(frame.pkey);
    if (conversation !== undefined) sender.conversations.add(conversation.id);
    if ((frame.flags & OpFlag.Request) !== 0) {
      this.#anyAsked = true;
      sender.requests.asked(frame.psn, id);
    }
    if (wantsSample(sender, frame)) sender.samples.push(sampleOf(frame, packet.number));
  }

  finish(context: DetectorContext): void {
    const senders = [...this.#senders.values()];
    const foreign = senders.filter(isForeign);
    const bad = senders.filter((sender) => sender.bad.count > 0 && !isForeign(sender));
    const known = addressesOf(context);
    const anyAnswered = bad.some(({ requests }) => requests.acknowledged >= ENOUGH_ANSWERS);
    for (const sender of bad.slice(0, MOST_FINDINGS)) {
      const explanation = explain(sender.samples, known);
      const all = sender.good === 0 && sender.bad.count >= ENOUGH;
      // No ICRC of the capture is right and some requests have responses: the receivers accepted them.
      const { acknowledged } = sender.requests;
      const answered = acknowledged >= ENOUGH_ANSWERS || (anyAnswered && context.capture.goodIcrc === 0);
      // Of damage a receiver accepts nothing.
      const accepted = 2 * acknowledged > sender.bad.count && acknowledged >= ENOUGH_ANSWERS;
      if (all || explanation !== undefined || accepted) reportSender(context, sender, explanation, answered);
      else reportDamage(context, sender);
    }
    if (foreign.some((sender) => sender.bad.count > 0)) reportForeign(context, foreign);
    if (this.#rxeFlushes.count > 0) reportRxeFlushes(context, this.#rxeFlushes);
  }

  #senderOf({ frame, source }: Dissection): Sender | undefined {
    const key = frame.ipVersion === 4 ? source : addressKey(frame, frame.ipOffset + IPV6_SOURCE_AT);
    if (key === this.#lastKey && this.#last !== undefined) return this.#last;
    const found = key === this.#beforeKey ? (this.#before ?? this.#find(key, frame)) : this.#find(key, frame);
    this.#beforeKey = this.#lastKey;
    this.#before = this.#last;
    this.#lastKey = key;
    this.#last = found;
    return found;
  }

  #find(key: number, frame: Frame): Sender | undefined {
    const known = this.#senders.get(key);
    if (known !== undefined || this.#senders.size >= MOST_SENDERS) return known;
    const made = new Sender(frameSource(frame));
    this.#senders.set(key, made);
    return made;
  }

  /** Not RoCEv2, though for its port. */
  #foreign(frame: Frame): void {
    const at = frame.ipOffset + (frame.ipVersion === 4 ? IPV4_SOURCE_AT : IPV6_SOURCE_AT);
    const sender = this.#find(addressKey(frame, at), frame);
    if (sender !== undefined) sender.foreign++;
  }

  #answers(frame: Frame, conversation: number): void {
    const at = frame.ipOffset + (frame.ipVersion === 4 ? IPV4_DESTINATION_AT : IPV6_DESTINATION_AT);
    this.#senders.get(addressKey(frame, at))?.requests.answered(frame.psn, conversation);
  }
}

/** What has no P_Key and is for queue pair 0 is nothing of RoCEv2: a payload of zeros. */
function isBlank({ pkey, destQpn }: Frame): boolean {
  return (pkey & 0x7f_ff) === 0 && destQpn === 0;
}

/**
 * A sender of something else to this port: what looks like RoCEv2 does so by chance, and nobody acknowledges it. A host
 * has a few P_Keys; a program that begins its packets with a number has as many as packets.
 */
function isForeign({ good, bad, unchecked, foreign, pkeys, requests }: Sender): boolean {
  if (good > 0 || requests.acknowledged >= ENOUGH_ANSWERS) return false;
  const numbers = pkeys.size === MOST_PKEYS || (pkeys.size > ENOUGH && 2 * pkeys.size > bad.count);
  return numbers || foreign > bad.count + unchecked;
}

function addressKey({ view, ipVersion }: Frame, at: number): number {
  if (ipVersion === 4) return view.getInt32(at);
  return view.getInt32(at) ^ view.getInt32(at + 4) ^ view.getInt32(at + 8) ^ view.getInt32(at + 12);
}

/** Packets of several lengths give better evidence. */
function wantsSample({ samples }: Sender, { icrcOffset, ipOffset }: Frame): boolean {
  if (samples.length < ENOUGH_SAMPLES) return true;
  return samples.length < MOST_SAMPLES && !samples.some(({ icrcAt }) => icrcAt === icrcOffset - ipOffset);
}

function reportSender(
  context: DetectorContext,
  sender: Sender,
  explanation: Explanation | undefined,
  answered: boolean,
): void {
  const { bad, good, address } = sender;
  const all = good === 0;
  const which = all
    ? `All ${counted(bad.count, 'packet')}`
    : `${grouped(bad.count)} of ${counted(bad.count + good, 'packet')}`;
  const effect = answered
    ? ', and yet the peer answers: the capture is not what was on the wire, or the receiver does not check'
    : ': receivers drop them silently';
  const why = explanation === undefined ? 'No known mistake explains it.' : `The ICRC ${explanation.clause}.`;
  context.report({
    severity: answered ? 'note' : 'error',
    text: `${which} of ${address} ${bad.count === 1 && all ? 'has' : 'have'} a wrong ICRC${effect}. ${why}`,
    frames: bad.frames,
    frameCount: bad.count,
    conversations: [...sender.conversations],
    evidence: {
      sender: address.toString(),
      badPackets: bad.count,
      goodPackets: good,
      explanation: explanation?.kind ?? 'none',
      detail: explanation?.clause ?? '',
    },
    advice: [
      ...(explanation === undefined ? [] : [explanation.advice]),
      ...ICRC_INVALID.advice,
      ...(answered
        ? ['Analyze it with --no-icrc: packets with a wrong ICRC are left out here, and peers had them.']
        : []),
    ],
  });
}

function reportDamage(context: DetectorContext, { bad, good, address, samples, conversations }: Sender): void {
  const parts = samples.map(damagedPart).filter((part) => part !== undefined);
  const where = [...new Set(parts)].join(', ');
  const bits =
    parts.length === 0
      ? 'more than one bit is wrong'
      : parts.length === samples.length
        ? `a single bit is turned over (${where})`
        : `in ${parts.length} of ${samples.length} looked at a single bit is turned over (${where})`;
  context.report({
    severity: 'warning',
    restsOn: [],
    text: `${grouped(bad.count)} of ${counted(bad.count + good, 'packet')} of ${address} ${bad.count === 1 ? 'was' : 'were'} damaged on the way, and the receiver drops what has a wrong ICRC: ${bits}.`,
    frames: bad.frames,
    frameCount: bad.count,
    conversations: [...conversations],
    evidence: {
      sender: address.toString(),
      badPackets: bad.count,
      goodPackets: good,
      explanation: 'damage',
      singleBitFlips: parts.length,
      samples: samples.length,
    },
    advice: [
      'Look for a bad cable, transceiver or memory: a check sequence of Ethernet does not see what a device damages inside.',
      ...ICRC_INVALID.advice,
    ],
    commands: ['ethtool -S DEV | grep -iE "icrc|crc|symbol"', 'ethtool -m DEV', 'ip -s -s link show DEV'],
  });
}

function reportForeign(context: DetectorContext, senders: readonly Sender[]): void {
  const sum = (of: (sender: Sender) => number) => senders.reduce((total, sender) => total + of(sender), 0);
  const packets = sum(({ foreign, bad }) => foreign + bad.count);
  const badPackets = sum(({ bad }) => bad.count);
  const who = senders.length === 1 ? `${senders[0]?.address}` : counted(senders.length, 'host');
  context.report({
    severity: 'note',
    text: `${counted(packets, 'packet')} of ${who} to UDP port 4791 ${packets === 1 ? 'is' : 'are'} something else than RoCEv2: no ICRC is right, and what should be the BTH makes no sense.`,
    frames: mergedFrames(senders.map(({ bad }) => bad.frames)),
    frameCount: badPackets,
    evidence: { explanation: 'foreign', packets, badPackets },
    advice: ['See which program has this port, as its own or by chance: nothing is wrong with RoCEv2.'],
    commands: ['ss -uanp | grep 4791'],
  });
}

function reportRxeFlushes(context: DetectorContext, flushes: FrameList): void {
  context.report({
    severity: 'note',
    text: `${counted(flushes.count, 'FLUSH request has', 'FLUSH requests have')} the ICRC that Linux rdma_rxe gives them, which is not the right one: hardware drops them.`,
    frames: flushes.frames,
    frameCount: flushes.count,
    evidence: { explanation: 'rxe-flush', badPackets: flushes.count },
    advice: ['Nothing between two rdma_rxe ends; use no FLUSH between rdma_rxe and another kind of device.'],
  });
}

function addressesOf({ conversations }: DetectorContext): IpAddress[] {
  const texts = conversations.flatMap(({ ends }: ConversationReport) => ends.map(({ address }) => address));
  return [...new Set(texts)]
    .filter((text) => text !== '')
    .slice(0, MOST_ADDRESSES)
    .map((text) => IpAddress.parse(text));
}

/** Packets without a right one among them that make a sender's mistake out of an accident. */
const ENOUGH = 3;
const ENOUGH_ANSWERS = 2;
const MOST_PKEYS = 64;
const ENOUGH_SAMPLES = 6;
const MOST_SAMPLES = 12;
const MOST_SENDERS = 4096;
const MOST_FINDINGS = 16;
const MOST_ADDRESSES = 64;
