/**
 * Goal: a detector sees exactly the kinds of packets that it names, and what it changes its mind about takes effect in
 * time. Method: facts made by hand go to detectors that write down what they see.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { FrameStatus } from '../../../packets/frame.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import type { Detector } from '../../../pcap/analysis/detector.ts';
import { DetectorDispatcher } from '../../../pcap/analysis/detector-dispatcher.ts';
import { Mark, Role } from '../../../pcap/analysis/facts.ts';
import { ALL_KINDS, PacketKind, packetKind, REQUEST_KINDS } from '../../../pcap/analysis/packet-kind.ts';
import { Conversation, ConversationEnd } from '../../../pcap/analysis/tracker/conversation.ts';
import { MutableFacts } from '../../../pcap/analysis/tracker/mutable-facts.ts';

function factsOf(role: Role, flags: number, marks = 0): MutableFacts {
  const facts = new MutableFacts();
  facts.dissection.status = FrameStatus.Ok;
  facts.dissection.frame.flags = flags;
  facts.role = role;
  facts.marks = marks;
  const ends = [
    new ConversationEnd(IpAddress.parse('10.0.0.1')),
    new ConversationEnd(IpAddress.parse('10.0.0.2')),
  ] as const;
  facts.conversation = new Conversation(1, 'traffic', 0, ends, facts);
  return facts;
}

const DATA = factsOf(Role.Request, OpFlag.Request | OpFlag.Write | OpFlag.Middle);
const MARKED = factsOf(Role.Request, OpFlag.Request | OpFlag.Write | OpFlag.Middle, Mark.Gap);
const ACK = factsOf(Role.Response, OpFlag.Response | OpFlag.Ack);

describe('The kind of a packet', () => {
  it.each([
    ['data', DATA, PacketKind.Data],
    ['a READ request', factsOf(Role.Request, OpFlag.Request | OpFlag.Read | OpFlag.Only), PacketKind.Fetch],
    ['a READ response', factsOf(Role.Response, OpFlag.Response | OpFlag.ReadResponse), PacketKind.Answer],
    ['an ACK', ACK, PacketKind.Ack],
    ['a NAK', factsOf(Role.Response, OpFlag.Response | OpFlag.Ack, Mark.Nak), PacketKind.Other],
    ['a datagram', factsOf(Role.Datagram, OpFlag.Request | OpFlag.Send | OpFlag.Only), PacketKind.Datagram],
    ['a CNP', factsOf(Role.Cnp, OpFlag.Cnp), PacketKind.Cnp],
    ['management', factsOf(Role.Management, OpFlag.Request | OpFlag.Send | OpFlag.Only), PacketKind.Management],
    ['what has a mark', MARKED, PacketKind.Other],
    ['what is no RoCEv2', new MutableFacts(), PacketKind.Other],
  ])('of %s is one of them', (_, facts, kind) => {
    expect(packetKind(facts)).toBe(kind);
  });

  it('of what belongs to no conversation is Other, unless it is management', () => {
    const lost = factsOf(Role.Request, OpFlag.Request | OpFlag.Write);
    lost.conversation = undefined;
    expect(packetKind(lost)).toBe(PacketKind.Other);
    lost.role = Role.Management;
    expect(packetKind(lost)).toBe(PacketKind.Management);
  });
});

/** A detector that counts what it sees. */
class Counter implements Detector {
  interest: number;
  seen = 0;

  constructor(interest: number) {
    this.interest = interest;
  }

  packet(): void {
    this.seen++;
  }

  finish(): void {}
}

describe('A detector', () => {
  it('that names no kinds sees all packets, one that names some sees those', () => {
    const order: string[] = [];
    const all: Detector = { packet: () => order.push('all'), finish: () => {} };
    const acks: Detector = { interest: PacketKind.Ack, packet: () => order.push('acks'), finish: () => {} };
    const dispatcher = new DetectorDispatcher([acks, { finish: () => {} }, all]);
    for (const facts of [DATA, ACK, MARKED]) dispatcher.packet(facts);
    expect(order).toEqual(['all', 'acks', 'all', 'all']);
  });

  it('that wants more from a packet of kind Other on sees the very next packet', () => {
    const detector = new Counter(PacketKind.Other);
    const dispatcher = new DetectorDispatcher([
      detector,
      { interest: PacketKind.Other, packet: () => wake(detector), finish() {} },
    ]);
    dispatcher.packet(DATA);
    dispatcher.packet(MARKED);
    dispatcher.packet(DATA);
    expect(detector.seen).toBe(2);
  });

  it('that wants more after an event sees the next packet', () => {
    const detector = new Counter(0);
    const dispatcher = new DetectorDispatcher([detector]);
    wake(detector);
    dispatcher.updateInterests();
    dispatcher.packet(DATA);
    expect(detector.seen).toBe(1);
  });

  it('that wants less is left alone before long', () => {
    const detector = new Counter(ALL_KINDS);
    const dispatcher = new DetectorDispatcher([detector]);
    detector.interest = PacketKind.Other;
    for (let i = 0; i < 10_000; i++) dispatcher.packet(DATA);
    expect(detector.seen).toBeLessThan(2_000);
  });
});

function wake(detector: Counter): void {
  detector.interest = REQUEST_KINDS;
}
