/**
 * Goal: symptoms 11 to 20 of ref:analyzer#1 are found in captures that show them, with the packets and figures that
 * prove it. Method: every scene that shows one goes through the whole analyzer. Which packets prove a finding is
 * computed here from the capture alone, by what the scene did, and never by the code under test.
 */
import { describe, expect, it } from 'vitest';
import { cmKind } from '../../../../packets/cm/index.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../../packets/frame.ts';
import { Op, OpFlag } from '../../../../packets/opcode.ts';
import { PFC_PRIORITIES, pfcEnableVector, pfcQuanta } from '../../../../packets/pfc.ts';
import { SYMPTOMS_B } from '../../../../pcap/analysis/detectors/list-b.ts';
import { type Analysis, type Finding, MOST_FRAMES, type Severity } from '../../../../pcap/analysis/types.ts';
import type { CapturedPacket } from '../../../../pcap/index.ts';
import { SCENES_B } from '../../../../tools/symptoms/list-b.ts';
import { alarms, analyze, packetsOf } from './support.ts';

/** What a triggering scene must say. */
interface Expected {
  readonly severity: Severity;
  readonly evidence: Finding['evidence'];
  /** Part of the sentence. */
  readonly says: string | RegExp;
  /** All packets that prove it. */
  readonly frames: (played: Played) => readonly number[];
}

/** A scene played and analyzed. */
class Played {
  readonly capture: readonly CapturedPacket[];
  readonly analysis: Analysis;

  constructor(file: Uint8Array) {
    this.capture = packetsOf(file);
    this.analysis = analyze(this.capture);
  }

  /**
   * Numbers of the packets for which this holds; the frame of what is no RoCE packet is as far as it could be parsed.
   */
  framesWhere(holds: (frame: Frame, packet: CapturedPacket, status: FrameStatus) => boolean): number[] {
    const frame = new Frame();
    return this.capture
      .filter((packet) => {
        const { bytes } = packet;
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        return holds(frame, packet, parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame));
      })
      .map(({ number }) => number);
  }

  roceWhere(holds: (frame: Frame, packet: CapturedPacket) => boolean): number[] {
    return this.framesWhere((frame, packet, status) => status === FrameStatus.Ok && holds(frame, packet));
  }
}

const isCe = ({ trafficClass }: Frame) => (trafficClass & 3) === 3;
const isFull = ({ flags }: Frame) => (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
const isCm = (kind: string) => (frame: Frame) =>
  frame.opcode === Op.UdSendOnly && cmKind(frame.view.getUint16(frame.payloadOffset + 16)) === kind;
const all = (played: Played) => played.roceWhere(() => true);
const ce = (played: Played) => played.roceWhere(isCe);
const cnps = (played: Played) => played.roceWhere(({ opcode }) => opcode === Op.Cnp);

function xoffs(priority: number) {
  return (played: Played) =>
    played.framesWhere(({ view, start, etherType }) => {
      if (etherType !== 0x8808) return false;
      expect(pfcEnableVector(view, start)).toBe(1 << priority);
      expect(priority).toBeLessThan(PFC_PRIORITIES);
      return pfcQuanta(view, start, priority) > 0;
    });
}

/** The first packets of each direction of a connection that are no CNPs. */
function firstOfEach(played: Played, port: number): number[] {
  const seen = new Set<string>();
  return played.roceWhere((frame, { bytes, interfaceIndex }) => {
    if (frame.opcode === Op.Cnp || (port >= 0 && bytes[11] !== port && bytes[5] !== port)) return false;
    const key = `${interfaceIndex} ${bytes[11]}`;
    return seen.size < seen.add(key).size;
  });
}

const EXPECTED: Readonly<Record<string, Expected>> = {
  'mtu-mismatch-ends': {
    severity: 'error',
    evidence: { sign: 'ends', pathMtus: [4096, 1024], failing: 'yes' },
    says: '10.0.0.1 sends long messages in packets of 4,096 bytes and 10.0.0.2 in packets of 1,024',
    frames: (played) => played.roceWhere(isFull),
  },
  'mtu-mismatch-router': {
    severity: 'error',
    evidence: { sign: 'icmp', reporter: '10.0.0.254', limitBytes: 1500, packetBytes: 4156, messages: 3 },
    says: '10.0.0.254 reported 3 times that RoCE packets of 10.0.0.1 to 10.0.0.2 do not fit',
    frames: (played) => played.framesWhere(({ protocol }) => protocol === 1),
  },
  'mtu-mismatch-black-hole': {
    severity: 'error',
    evidence: { sign: 'black-hole', packetBytes: 4156, sent: 4, answeredBytes: 1060, answers: 6 },
    says: 'was sent 4 times without any answer, while 6 answers came to packets of up to 1,060 bytes',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.WriteFirst),
  },
  'mtu-mismatch-router-ipv6': {
    severity: 'error',
    evidence: { sign: 'icmp', reporter: 'fd00::254', limitBytes: 1280, packetBytes: 4176, messages: 3 },
    says: 'fd00::254 reported 3 times that RoCE packets of fd00::1 to fd00::2 do not fit',
    frames: (played) => played.framesWhere(({ protocol }) => protocol === 58),
  },
  'mtu-mismatch-short-ends-pass': {
    severity: 'error',
    evidence: { sign: 'black-hole', packetBytes: 1084, sent: 4, nak: 'yes' },
    says: 'was sent 4 times and only a sequence NAK that asks for it came back',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.WriteFirst),
  },
  'mtu-mismatch-short-ends-at-receiver': {
    severity: 'error',
    evidence: { sign: 'black-hole-behind', packetBytes: 948, seen: 4 },
    says: 'Of long messages from 10.0.0.1 to 10.0.0.2 only the last packets get here',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.WriteLast),
  },
  'mtu-mismatch-read-responses': {
    severity: 'error',
    evidence: { sign: 'black-hole-behind', packetBytes: 952, seen: 4 },
    says: 'Of long messages from 10.0.0.2 to 10.0.0.1 only the last packets get here',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.ReadResponseLast),
  },
  'mtu-mismatch-read-responses-at-sender': {
    severity: 'error',
    evidence: { sign: 'black-hole', packetBytes: 1072, sent: 4 },
    says: 'was sent 4 times and requested again each time',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.ReadResponseFirst),
  },
  'mtu-mismatch-fragments': {
    severity: 'error',
    evidence: { sign: 'fragments', source: '10.0.0.1', packets: 3, fragmentBytes: 1500 },
    says: '3 RoCE packets of 10.0.0.1 to 10.0.0.2 were cut',
    frames: (played) =>
      played.framesWhere(({ view, ipOffset }) => ipOffset > 0 && view.getUint16(ipOffset + 6) === 0x20_00),
  },
  'icrc-invalid-castagnoli': {
    severity: 'error',
    evidence: { sender: '10.0.0.1', badPackets: 16, goodPackets: 0, explanation: 'recipe' },
    says: 'CRC-32C (Castagnoli)',
    frames: all,
  },
  'icrc-invalid-big-endian': {
    severity: 'error',
    evidence: { badPackets: 16, explanation: 'recipe' },
    says: 'stored big-endian',
    frames: all,
  },
  'icrc-invalid-nat': {
    severity: 'error',
    evidence: { sender: '203.0.113.5', badPackets: 16, explanation: 'changed' },
    says: 'source address 10.0.0.1',
    frames: all,
  },
  'icrc-invalid-damage': {
    severity: 'warning',
    evidence: { sender: '10.0.0.1', badPackets: 4, explanation: 'damage', singleBitFlips: 4, samples: 4 },
    says: '4 of 190 packets of 10.0.0.1 were damaged on the way',
    // Frames whose repetition differs from them; found once by comparing them byte by byte.
    frames: () => [27, 71, 161, 166],
  },
  'ecn-no-cnp': {
    severity: 'warning',
    evidence: { leg: 'notification-point', receiver: '10.0.0.2', likeRxe: 'no' },
    says: 'it never sent a CNP',
    frames: ce,
  },
  'ecn-no-cnp-rxe': {
    severity: 'warning',
    evidence: { leg: 'notification-point', receiver: '10.0.0.2', likeRxe: 'yes' },
    says: 'rdma_rxe, which never does',
    frames: ce,
  },
  'ecn-cnp-ignored': {
    severity: 'warning',
    evidence: { leg: 'reaction-point', sender: '10.0.0.1', likeRxe: 'no' },
    says: 'did not slow it down: 2 Gb/s under them, 2 Gb/s before',
    frames: cnps,
  },
  'ecn-cnp-wrong-queue-pair': {
    severity: 'warning',
    evidence: { leg: 'cnp-queue-pair', from: '10.0.0.2', to: '10.0.0.1', cnps: 4 },
    says: 'that is its own number',
    frames: cnps,
  },
  'ecn-cnp-unknown-queue-pair': {
    severity: 'warning',
    evidence: { leg: 'cnp-queue-pair', qpn: 0x4711, cnps: 4 },
    says: '10.0.0.1 has none of that number',
    frames: cnps,
  },
  'ecn-cnp-in-data-class': {
    severity: 'warning',
    evidence: { leg: 'cnp-dscp', dscp: 26 },
    says: 'they wait in the queue that they are to relieve',
    frames: cnps,
  },
  'ecn-not-ect': {
    severity: 'warning',
    evidence: { leg: 'ect', sender: '10.0.0.3', notEctPackets: 80, ectPackets: 80, otherHosts: 1 },
    says: '80 data packets of 10.0.0.3 are Not-ECT, so the network may not mark them',
    frames: (played) => played.roceWhere(({ payloadLength }, { bytes }) => bytes[11] === 3 && payloadLength > 0),
  },
  'pfc-storm-host': {
    severity: 'error',
    evidence: { host: '10.0.0.2', priority: 3, pauses: 100, resumes: 0 },
    says: /Host 10\.0\.0\.2 .* paused class 3 for 100 %/,
    frames: xoffs(3),
  },
  'pfc-storm-congestion': {
    severity: 'warning',
    evidence: {
      host: '',
      port: '02:00:00:00:00:fe',
      priority: 3,
      pauses: 30,
      resumes: 30,
      longestNs: 150_000,
      pausedPercent: 15,
    },
    says: 'for 15 % of the time or more: 30 pauses',
    frames: xoffs(3),
  },
  'pfc-storm-wrong-class': {
    severity: 'error',
    evidence: { priority: 4, roceWithThisPriority: 0 },
    says: 'travels with priority 3, which this does not pause',
    frames: xoffs(4),
  },
  'dscp-directions': {
    severity: 'warning',
    evidence: { addresses: ['10.0.0.1', '10.0.0.2'], dscps: [26, 0], connections: 1, lossy: 'no' },
    says: '10.0.0.1 sends with DSCP 26 to 10.0.0.2, which answers with DSCP 0',
    frames: (played) => firstOfEach(played, -1),
  },
  'dscp-rewritten': {
    severity: 'warning',
    evidence: { addresses: ['10.0.0.1', '10.0.0.2'], dscps: [26, 0], interfaces: [0, 1] },
    says: 'something between them rewrites it',
    frames: (played) => firstOfEach(played, -1),
  },
  'dscp-left-out': {
    severity: 'warning',
    evidence: { dscp: 0, connections: 1, repeatedPackets: 31 },
    says: '1 connection of 10.0.0.3 and 10.0.0.4 carries DSCP 0 and had to repeat 31 packets',
    frames: (played) => firstOfEach(played, 3),
  },
  'dscp-vlan-priority': {
    severity: 'warning',
    evidence: { dscp: 26, vlanPriority: 0, lossy: 'yes' },
    says: 'VLAN priority 0 and DSCP 26, whose usual priority is 3',
    frames: (played) => firstOfEach(played, -1),
  },
  'refused-no-listener': {
    severity: 'error',
    evidence: { refuser: '10.0.0.2', service: 'port 7471', reason: 8, refusals: 3, succeededLater: 'no' },
    says: 'no process listens there (reason 8, InvalidServiceId)',
    frames: (played) => played.roceWhere((frame) => isCm('REQ')(frame) || isCm('REJ')(frame)),
  },
  'refused-other-service': {
    severity: 'error',
    evidence: { reason: 9, refusals: 1 },
    says: 'it requires another transport service',
    frames: (played) => played.roceWhere((frame) => isCm('REQ')(frame) || isCm('REJ')(frame)),
  },
  'connect-timeout-dead-host': {
    severity: 'error',
    evidence: {
      client: '10.0.0.1',
      server: '10.0.0.2',
      service: 'port 7471',
      requests: 4,
      connections: 1,
      serverSeen: 'no',
    },
    says: 'got no response, then gave up; nothing at all comes from 10.0.0.2',
    frames: (played) => played.roceWhere(isCm('REQ')),
  },
  'connect-timeout-backlog': {
    severity: 'error',
    evidence: { requests: 4, connections: 1, answeredOthers: 2, serverSeen: 'yes' },
    says: '2 other requests to port 7471 were answered, so its backlog is full or it is busy',
    // Two are accepted, one waits.
    frames: (played) => played.roceWhere(isCm('REQ')).slice(3),
  },
  'connect-timeout-unheard-answer': {
    severity: 'error',
    evidence: { replies: 6, connections: 1 },
    says: 'no RTU confirmed it',
    frames: (played) => played.roceWhere(isCm('REP')),
  },
  'duplicates-at-responder': {
    severity: 'warning',
    evidence: {
      requester: '10.0.0.1',
      responder: '10.0.0.2',
      runs: 4,
      repeatedAfterAck: 4,
      duplicatePackets: 12,
      lostRequestPackets: 0,
    },
    says: 'retransmitted 4 times what 10.0.0.2 had received',
    frames: (played) => lostAcksAndRepetitions(played),
  },
  'duplicates-at-requester': {
    severity: 'warning',
    evidence: { runs: 4, shownByLateAck: 4, repeatedAfterAck: 0 },
    says: 'as the ACKs that came at last show',
    frames: (played) => repetitionsAndSecondAcks(played),
  },
  'duplicates-both': {
    severity: 'warning',
    evidence: { runs: 4, repeatedAfterAck: 4 },
    says: 'retransmitted 4 times',
    frames: (played) => lostAcksAndRepetitions(played, 1),
  },
  'read-stall-depth-two': {
    severity: 'warning',
    evidence: { outstanding: 2, agreed: 2, stalls: 39, stalledPercent: 100 },
    says: '2 READs and atomics outstanding 39 times, all that the connection managers agreed on,',
    // Every request but the first, and every answer but the last.
    frames: (played) =>
      played.roceWhere(({ flags }) => (flags & (OpFlag.Read | OpFlag.ReadResponse)) !== 0).slice(1, -1),
  },
  'read-stall-depth-one': {
    severity: 'warning',
    evidence: { outstanding: 1, agreed: 1, stalls: 24 },
    says: '1 READ or atomic outstanding 24 times',
    frames: (played) => played.roceWhere(({ flags }) => (flags & (OpFlag.Read | OpFlag.ReadResponse)) !== 0),
  },
  'read-stall-overrun': {
    severity: 'warning',
    evidence: { outstanding: 8, agreed: 2, overruns: 38 },
    says: 'had up to 8 READs and atomics outstanding, but 10.0.0.2 announced that it answers 2 at a time',
    frames: (played) => played.roceWhere(({ opcode }) => opcode === Op.ReadRequest).slice(2),
  },
  'one-port-eight-queue-pairs': {
    severity: 'warning',
    evidence: { host: '10.0.0.1', queuePairs: 8, sourcePort: 50_000, sharing: 8, entropyBits: 0 },
    says: 'All 8 queue pairs of 10.0.0.1',
    frames: (played) =>
      played.roceWhere(({ opcode }, { interfaceIndex }) => opcode === Op.WriteFirst && interfaceIndex === 0),
  },
  'one-port-both-vantages': {
    severity: 'warning',
    evidence: { queuePairs: 9, sharing: 9 },
    says: 'All 9 queue pairs of 10.0.0.1',
    frames: (played) =>
      played.roceWhere(({ opcode }, { interfaceIndex }) => opcode === Op.WriteFirst && interfaceIndex === 0),
  },
};

/** At the responder: the first ACK of a PSN that comes again later, and the first repeated packet behind it. */
function lostAcksAndRepetitions(played: Played, at = 0): number[] {
  const acks = new Map<number, number>();
  const frames: number[] = [];
  const run = new Run();
  played.roceWhere(({ opcode, psn }, { number, interfaceIndex }) => {
    if (interfaceIndex !== at) return false;
    if (opcode === Op.Acknowledge && !acks.has(psn)) acks.set(psn, number);
    else if (opcode !== Op.Acknowledge && run.beginsWith(psn)) frames.push(acks.get(psn + 2) ?? 0, number);
    return false;
  });
  return frames;
}

/** At the requester: the first packet of each run of retransmissions, and the second ACK of its end. */
function repetitionsAndSecondAcks(played: Played): number[] {
  const acks = new Map<number, number>();
  const run = new Run();
  return played.roceWhere(({ opcode, psn }) => {
    if (opcode !== Op.Acknowledge) return run.beginsWith(psn);
    acks.set(psn, (acks.get(psn) ?? 0) + 1);
    return acks.get(psn) === 2;
  });
}

/** Runs of requests that were sent before. */
class Run {
  readonly #sent = new Set<number>();
  #repeating = false;

  /** Whether a repetition begins with this packet. */
  beginsWith(psn: number): boolean {
    const again = this.#sent.has(psn);
    const begins = again && !this.#repeating;
    this.#repeating = again;
    this.#sent.add(psn);
    return begins;
  }
}

describe('the symptoms', () => {
  it('are rows 11 to 20', () => {
    expect(SYMPTOMS_B.map(({ row }) => row)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  });

  it('have words for everything that is shown of them', () => {
    for (const { id, title, complaint, about, advice, commands } of SYMPTOMS_B) {
      for (const text of [title, complaint, about, ...advice, ...commands]) expect(text.length, id).toBeGreaterThan(4);
      expect(advice.length, id).toBeGreaterThan(0);
      expect(commands.length, id).toBeGreaterThan(0);
      expect(about.split('. ').length, id).toBeGreaterThan(1);
    }
  });

  it('are expected here for every scene that shows one', () => {
    const names = SCENES_B.filter(({ triggers }) => triggers).map(({ name }) => name);
    expect(Object.keys(EXPECTED).sort()).toEqual(names.sort());
  });
});

describe('a scene that shows it', () => {
  for (const scene of SCENES_B.filter(({ triggers }) => triggers)) {
    it(`is found with its packets and figures: ${scene.name}`, async () => {
      const played = new Played(await scene.make());
      const expected = EXPECTED[scene.name];
      const own = alarms(played.analysis).filter(({ id }) => id === scene.symptom);
      expect(own).toHaveLength(1);
      const [finding] = own;
      if (finding === undefined || expected === undefined) return;
      expect(finding.severity).toBe(expected.severity);
      expect(finding.evidence).toMatchObject(expected.evidence);
      expect(finding.text).toMatch(expected.says);
      const frames = expected.frames(played);
      expect(finding.frames).toEqual(frames.slice(0, MOST_FRAMES));
      expect(finding.frameCount).toBe(frames.length);
      expect(finding.text).toMatch(/^[A-Z0-9].*\.$/s);
      expect(finding.advice.length).toBeGreaterThan(0);
      expect(finding.commands.length).toBeGreaterThan(0);
    });
  }
});
