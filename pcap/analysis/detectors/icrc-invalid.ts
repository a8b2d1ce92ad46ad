/**
 * Symptom: packets with a wrong ICRC. Receivers drop them silently, so the sender gets no response.
 *
 * Owns three findings:
 * - all packets of a sender are wrong (3 or more, since two may be chance), or are wrong in a way that a known mistake
 *   explains: an error;
 * - the same, but peers respond: a note. The capture then differs from the wire (anonymized addresses, an ICRC that the
 *   NIC inserts after the capture point), or the receiver does not check;
 * - some packets are wrong among right ones: damage, a warning, since each of them costs a retransmission.
 * A FLUSH with the ICRC of rdma_rxe is a note.
 * Rules: ref:wire#3 (recipe, known mistakes), ref:analyzer#1 row 12, packets/rxe-flush-icrc.ts.
 */
import { IpAddress } from '../../../packets/address.ts';
import { SYNDROME_KIND_MASK, SyndromeKind } from '../../../packets/aeth.ts';
import { type Frame, frameSource } from '../../../packets/frame.ts';
import { IPV4_DESTINATION_AT } from '../../../packets/ipv4.ts';
import { IPV6_DESTINATION_AT, IPV6_SOURCE_AT } from '../../../packets/ipv6.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { isRxeFlush } from '../../../packets/rxe-flush-icrc.ts';
import { type Dissection, IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import type { ConversationReport } from '../types.ts';
import { FrameList } from './frame-list.ts';
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
  /** PSNs of its latest requests with a wrong ICRC, and how many of them were answered well. */
  readonly asked: number[] = [];
  answered = 0;

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
    if (icrc === IcrcState.Unknown) return;
    const { frame } = dissection;
    const sender = this.#senderOf(dissection);
    if (sender === undefined) return;
    if (this.#anyAsked && isGoodAnswer(frame)) this.#answers(frame);
    if (icrc === IcrcState.Good) {
      sender.good++;
      return;
    }
    if (isRxeFlush(frame)) {
      this.#rxeFlushes.add(packet.number);
      return;
    }
    sender.bad.add(packet.number);
    if (conversation !== undefined) sender.conversations.add(conversation.id);
    if ((frame.flags & OpFlag.Request) !== 0) {
      this.#anyAsked = true;
      sender.asked.push(frame.psn);
      if (sender.asked.length > MOST_ASKED) sender.asked.shift();
    }
    if (wantsSample(sender, frame)) sender.samples.push(sampleOf(frame, packet.number));
  }

  finish(context: DetectorContext): void {
    const bad = [...this.#senders.values()].filter(({ bad }) => bad.count > 0);
    const known = addressesOf(context);
    const anyAnswered = bad.some(({ answered }) => answered >= ENOUGH_ANSWERS);
    for (const sender of bad.slice(0, MOST_FINDINGS)) {
      const explanation = explain(sender.samples, known);
      const all = sender.good === 0 && sender.bad.count >= ENOUGH;
      // No ICRC of the capture is right and some requests have responses: the receivers accepted them.
      const answered = sender.answered >= ENOUGH_ANSWERS || (anyAnswered && context.capture.goodIcrc === 0);
      if (all || explanation !== undefined) reportSender(context, sender, explanation, answered);
      else reportDamage(context, sender);
    }
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

  #answers(frame: Frame): void {
    const at = frame.ipOffset + (frame.ipVersion === 4 ? IPV4_DESTINATION_AT : IPV6_DESTINATION_AT);
    const requester = this.#senders.get(addressKey(frame, at));
    if (requester?.asked.includes(frame.psn) === true) requester.answered++;
  }
}

function addressKey({ view, ipVersion }: Frame, at: number): number {
  if (ipVersion === 4) return view.getInt32(at);
  return view.getInt32(at) ^ view.getInt32(at + 4) ^ view.getInt32(at + 8) ^ view.getInt32(at + 12);
}

/** An ACK, or requested data. */
function isGoodAnswer({ flags, view, bthOffset, opcode }: Frame): boolean {
  if ((flags & OpFlag.Response) === 0) return false;
  if ((flags & OpFlag.Ack) === 0) return true;
  return (view.getUint8(bthOffset + (AETH_AT[opcode] ?? 0)) & SYNDROME_KIND_MASK) === SyndromeKind.Ack;
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
    ...(explanation === undefined ? {} : { advice: [explanation.advice, ...ICRC_INVALID.advice] }),
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
const MOST_ASKED = 64;
const ENOUGH_SAMPLES = 6;
const MOST_SAMPLES = 12;
const MOST_SENDERS = 4096;
const MOST_FINDINGS = 16;
const MOST_ADDRESSES = 64;
