/**
 * The result of the analysis of a capture, as plain data: conversations, transport events, findings, totals. All of it
 * can be written as JSON.
 *
 * Owns the vocabulary that tracker, detectors, rules, printers and the explorer share. Computes nothing. Times are
 * integer nanoseconds since the first packet of the capture. PSNs in reports are those of the wire unless a name says
 * `relative`.
 */
import type { CaptureLimit, Vantage } from './capture-limit.ts';
import type { TransportEvent } from './transport-event.ts';

export * from './capture-limit.ts';
export * from './transport-event.ts';

/** How bad a finding is. */
export const SEVERITIES = ['error', 'warning', 'note'] as const;
/** One of them. An error ends connections or loses data, a warning costs speed, a note is only information. */
export type Severity = (typeof SEVERITIES)[number];

/** What is wrong, which packets prove it, and what to do. */
export interface Finding {
  /** Kebab case: the name of a symptom, `no-reply`, or of a rule, `rule/read-length`. */
  readonly id: string;
  /** How bad it is. */
  readonly severity: Severity;
  /** What is wrong, in one plain sentence with the figures of this case. */
  readonly text: string;
  /** Numbers of the packets that prove it, in order, at most `MOST_FRAMES`; Wireshark's numbers. */
  readonly frames: readonly number[];
  /** How many there are in all. */
  readonly frameCount: number;
  /** Ids of the conversations concerned; empty when it is about the whole capture. */
  readonly conversations: readonly number[];
  /** Figures behind the sentence, by name with unit: `timeoutNs`, `lossPercent`. */
  readonly evidence: Readonly<Record<string, number | string | readonly (number | string)[]>>;
  /** What to do, most promising first, sentences. */
  readonly advice: readonly string[];
  /** Commands that show more, ready to be typed. */
  readonly commands: readonly string[];
}

/** Packets that a finding names at most. */
export const MOST_FRAMES = 20;

/** How long something took. Percentiles are those of a histogram whose buckets are 3 % wide. */
export interface LatencyReport {
  /** How many there were. */
  readonly count: number;
  /** All of these are 0 when `count` is 0. */
  readonly minNs: number;
  /** Half of them took no longer. */
  readonly p50Ns: number;
  /** 99 of 100 took no longer. */
  readonly p99Ns: number;
  /** The longest. */
  readonly maxNs: number;
  /** Their mean. */
  readonly meanNs: number;
}

/** The requests of one end and their responses. */
export interface RequesterReport {
  /** PSN of the first request seen or announced; -1: none. */
  readonly firstPsn: number;
  /**
   * Whether `firstPsn` is the first PSN of the connection, by connection management or by the traffic, and not one in
   * the middle.
   */
  readonly fromStart: boolean;
  /** The next PSN that the capture expects. */
  readonly nextPsn: number;
  /** Messages begun, by operation: "SEND", "WRITE", "READ", "FETCH_ADD", "CMP_SWAP", "FLUSH", "ATOMIC_WRITE". */
  readonly messages: Readonly<Record<string, number>>;
  /** Packets of requests, each sighting counts. */
  readonly packets: number;
  /** Of these, sent before. */
  readonly retransmittedPackets: number;
  /** Sent and never arrived, as far as the capture can tell. */
  readonly lostPackets: number;
  /** Acknowledged though never seen: losses of the capture. */
  readonly unseenPackets: number;
  /** Came after packets sent later. */
  readonly reorderedPackets: number;
  /**
   * Requests that were captured here and not received in order: whether lost or overtaken cannot be told. And, where
   * the capture loses packets, gaps of which either may be the cause.
   */
  readonly undecidedPackets: number;
  /** READ responses and atomic answers to this end. */
  readonly responses: {
    /** Each sighting counts. */
    readonly packets: number;
    /** Of these, sent before. */
    readonly retransmittedPackets: number;
    /** Sent and never arrived, as far as the capture can tell. */
    readonly lostPackets: number;
    /** Followed by what implies them, though never seen: losses of the capture. */
    readonly unseenPackets: number;
    /** Came after packets sent later. */
    readonly reorderedPackets: number;
    /** Where the capture loses packets: lost by it or by the network. */
    readonly undecidedPackets: number;
  };
  /** Of its lost responses, those that were captured before they were requested again: they may have come late. */
  readonly missedResponses: number;
  /** Frames that were captured twice unchanged, both directions of this space. */
  readonly copies: number;
  /** NAKs received, by the name of the syndrome: "PSN sequence error"... */
  readonly naks: Readonly<Record<string, number>>;
  /** RNR NAKs received. */
  readonly rnrNaks: number;
  /** READs and atomics that were requested again because of a gap in their responses. */
  readonly impliedNaks: number;
  /** Retransmissions after a timeout. */
  readonly timeouts: number;
  /** ACKs of what was acknowledged before. */
  readonly ghostAcks: number;
  /** ACKs received, without NAKs. */
  readonly acks: number;
  /** Largest number of READs and atomics under way, and of packets sent and not acknowledged. */
  readonly mostOutstandingReads: number;
  /** The same of packets sent and not acknowledged. */
  readonly mostUnackedPackets: number;
  /** Credits in the last ACK: -1 not seen, 31 not in use, else the code of the AETH. */
  readonly creditCode: number;
  /** Payload bytes that arrived for the first time: SENDs and WRITEs of this end, and READ responses to it. */
  readonly goodputBytes: number;
  /** `goodputBytes` over the time from the first to the last packet of the space; 0 when that is no time. */
  readonly goodputBps: number;
  /** From the last packet that an ACK acknowledges to the ACK, and of READs to the first response. */
  readonly ackLatency: LatencyReport;
  /** Of READs, to their first response. */
  readonly readLatency: LatencyReport;
  /** From the first packet behind a gap to the NAK. */
  readonly nakGeneration: LatencyReport;
  /** From a NAK to the packet it asks for. */
  readonly nakReaction: LatencyReport;
  /** PSN of the oldest request without an answer at the end of the capture, -1 when all were answered. */
  readonly unansweredPsn: number;
}

/** Congestion signs of what one end sent. */
export interface CongestionReport {
  /** RoCE packets by ECN code point. */
  readonly notEct: number;
  /** ECT(0), packets. */
  readonly ect0: number;
  /** ECT(1), packets. */
  readonly ect1: number;
  /** Marked Congestion Experienced, packets. */
  readonly ce: number;
  /** CNPs that this end sent. */
  readonly cnpsSent: number;
  /** Distances between CNPs that this end sent: the pacing interval is the smallest that repeats. */
  readonly cnpIntervalNs: LatencyReport;
  /** Pacing interval inferred from them; -1 when fewer than three CNPs or no steady interval. */
  readonly cnpPacingNs: number;
  /** DSCP values of data and of CNPs that this end sent, with the number of packets. */
  readonly dscp: Readonly<Record<string, number>>;
  /** The same of CNPs. */
  readonly cnpDscp: Readonly<Record<string, number>>;
}

/** One end of a conversation. */
export interface EndReport {
  /** IP address, as text. */
  readonly address: string;
  /** Empty where the capture has no Ethernet header. */
  readonly mac: string;
  /** -1: never shown. */
  readonly qpn: number;
  /** Virtual network of its first packet, by VNI or GRE key: "VXLAN 42"; '': none. */
  readonly network: string;
  /** UDP source ports of what it sent, in the order of their appearance, at most 16. */
  readonly sourcePorts: readonly number[];
  /** IPv6 flow label of its first packet, 20 bits; -1: IPv4. */
  readonly flowLabel: number;
  /** VLAN id, -1 without one; and the priority. */
  readonly vlan: number;
  /** Priority of the VLAN tag, -1 without one. */
  readonly vlanPriority: number;
  /** VLAN ids of all that it sent, in the order of their appearance, at most 4; 0: no tag, or one without id. */
  readonly vlans: readonly number[];
  /** P_Keys of all that it sent, 16 bits, in the order of their appearance, at most 4. */
  readonly pkeys: readonly number[];
  /** MigReq bit of the last packet that it sent; -1: it sent none. */
  readonly migReq: number;
  /** Number of the last packet whose MigReq bit was not that of the packet before; 0: it never changed. */
  readonly migReqFrame: number;
  /** Everything it sent: frames, and their bytes on the wire. */
  readonly packets: number;
  /** Their bytes on the wire. */
  readonly bytes: number;
  /** Of these, with a wrong ICRC. */
  readonly badIcrc: number;
  /** Largest payload of a FIRST or MIDDLE packet that it sent, which is the path MTU that it uses; 0: none seen. */
  readonly pathMtu: number;
  /** Its requests and their responses. */
  readonly requester: RequesterReport;
  /** Its congestion signs. */
  readonly congestion: CongestionReport;
}

/** The parameters of a conversation from connection management. */
export interface CmReport {
  /** Frames of the exchange, 0 where not seen. */
  readonly reqFrame: number;
  /** Of the REP, 0 where not seen. */
  readonly repFrame: number;
  /** Of the RTU, 0 where not seen. */
  readonly rtuFrame: number;
  /** Of the DREQ, 0 where not seen. */
  readonly dreqFrame: number;
  /** The active end, 0 or 1. */
  readonly activeEnd: 0 | 1;
  /** Bytes. */
  readonly pathMtu: number;
  /** Exponent n of 4.096 us * 2^n: the local ACK timeout in the REQ. */
  readonly ackTimeoutExponent: number;
  /** Retries after timeouts and sequence NAKs. */
  readonly retryCount: number;
  /** Retries of the passive end after RNR NAKs, from the REQ; 7 means infinitely many. */
  readonly rnrRetryCount: number;
  /** The same of the active end, from the REP. */
  readonly activeRnrRetryCount: number;
  /** READs and atomics that each end can answer at a time (responder resources). */
  readonly responderResources: number;
  /** READs and atomics that the active end means to have outstanding. */
  readonly initiatorDepth: number;
  /** Service id, 64 bits as text. */
  readonly serviceId: string;
}

/**
 * Packets between two queue pairs at one vantage point. A datagram queue pair has one conversation with each of its
 * peers.
 */
export interface ConversationReport {
  /** From 1, in the order of appearance. */
  readonly id: number;
  /** Transport service of its packets. */
  readonly service: 'RC' | 'UC' | 'RD' | 'UD' | 'XRC';
  /** From connection management, or from the traffic alone. */
  readonly learnt: 'cm' | 'traffic';
  /** Interface that saw it, by index in the capture. */
  readonly interfaceIndex: number;
  /** Id of the same conversation as another interface saw it first; 0: this is the first. */
  readonly sameAs: number;
  /**
   * Id of the conversation that had the same queue pairs before, with other PSNs: they were connected again; 0: none is
   * known.
   */
  readonly previousLife: number;
  /** Number of its first packet. */
  readonly firstFrame: number;
  /** Number of its last packet. */
  readonly lastFrame: number;
  /** Time of its first packet. */
  readonly startNs: number;
  /** Time of its last packet. */
  readonly endNs: number;
  /** End 0 is the active one with connection management, otherwise the first sender seen. */
  readonly ends: readonly [EndReport, EndReport];
  /** The parameters from connection management; absent where the capture has none of its messages. */
  readonly cm?: CmReport;
}

/** What the capture is made of. */
export interface CaptureReport {
  /** All of them. */
  readonly packets: number;
  /** Their bytes on the wire. */
  readonly bytes: number;
  /** Seconds since 1970 of the first packet, as text with nine decimals. */
  readonly startTime: string;
  /** From the first packet to the last. */
  readonly durationNs: number;
  /** RoCEv2 packets, whole or cut. */
  readonly rocePackets: number;
  /** RoCEv2 packets whose ICRC is right. */
  readonly goodIcrc: number;
  /** RoCEv2 packets whose ICRC is wrong. */
  readonly badIcrc: number;
  /** Packets that the capture cut short; their ICRC is not known. */
  readonly cutPackets: number;
  /** Packets that the capturing host reports as dropped. */
  readonly captureDrops: number;
  /** Packets within tunnels that were read, by the tunnels around them: "VXLAN", "ERSPAN II > VXLAN", ... */
  readonly tunnels: Readonly<Record<string, number>>;
  /** Packets that may carry RoCEv2 and cannot be read, by the reason: "MACsec", "ESP", an unknown tunnel. */
  readonly unread: Readonly<Record<string, number>>;
  /** Packets of other kinds and broken ones, by name: "ARP", "TCP", "RoCEv1", "PFC", "Truncated", ... */
  readonly others: Readonly<Record<string, number>>;
  /** RoCEv2 packets by name of their opcode. */
  readonly opcodes: Readonly<Record<string, number>>;
}

/** What the path between two interfaces of a capture can do to a frame. */
export const PATH_EFFECTS = ['dropped', 'duplicated', 'held', 'marked', 'corrupted', 'rewritten', 'inserted'] as const;
/** One of them. `held`: it took longer than is usual, or was overtaken. `inserted`: it left and never came. */
export type PathEffect = (typeof PATH_EFFECTS)[number];

/** A frame that did not pass from one interface to the other as it came. */
export interface PathEvent {
  /** Number of the frame as it came; 0: it never did. */
  readonly in: number;
  /** Numbers of its copies as they left. */
  readonly out: readonly number[];
  /** What was done to it. */
  readonly effects: readonly PathEffect[];
  /** From coming to the first leaving. */
  readonly heldNs: number;
  /** Frames that came later and left before it. */
  readonly overtakenBy: number;
}

/** How far the clocks of the two interfaces of a path are apart; half of the asymmetry of the shortest delays. */
export interface PathClock {
  /**
   * By how much the clock of `to` is ahead of that of `from`, in the middle of the capture; negative: behind. 0 where
   * the clocks may be the same one. The times of the path are corrected by it.
   */
  readonly offsetNs: number;
  /** The true offset differs by no more; -1: unknown, since frames went in one direction only. */
  readonly uncertaintyNs: number;
  /** Microseconds that the clock of `to` gains in each second; 0 where none was needed. */
  readonly driftPpm: number;
}

/** Transit times of a path. */
export interface PathTransit {
  /** The shortest. */
  readonly shortestNs: number;
  /** Half of them take no longer. */
  readonly medianNs: number;
  /** A frame that takes longer counts as held; learnt from the delays of the path. */
  readonly heldBeyondNs: number;
}

/**
 * The path from one interface to another, in one direction, where the capture has both: a bump in the wire, or merged
 * captures of both ends.
 */
export interface PathReport {
  /** Interfaces by index. */
  readonly from: number;
  /** The interface where they leave. */
  readonly to: number;
  /** Frames that came. */
  readonly frames: number;
  /** Of these, came when nothing was captured at the other interface, before its first frame or after its last one. */
  readonly notJudged: number;
  /** How the times of the two interfaces were made comparable. */
  readonly clock: PathClock;
  /** How long frames take that are not held: from coming to leaving, clocks corrected. */
  readonly transit: PathTransit;
  /** Frames, by what became of them; one frame may count more than once. */
  readonly effects: Readonly<Record<PathEffect, number>>;
  /** In the order of coming, at most as many as the options allow. */
  readonly events: readonly PathEvent[];
  /** Events that are missing above. */
  readonly eventsOmitted: number;
}

/** The whole result of an analysis. */
export interface Analysis {
  /** What the capture is made of. */
  readonly capture: CaptureReport;
  /** Where it was taken: one for each interface that has RoCEv2 packets, by index. */
  readonly vantages: readonly Vantage[];
  /** What it cannot know, most important first; findings that need it are lowered or left out. */
  readonly limits: readonly CaptureLimit[];
  /** Most severe first, then by first packet. */
  readonly findings: readonly Finding[];
  /** In the order of their appearance. */
  readonly conversations: readonly ConversationReport[];
  /** Conversations beyond the bound, which were not followed. */
  readonly conversationsOmitted: number;
  /** In the order in which they became certain, at most as many as the options allow. */
  readonly events: readonly TransportEvent[];
  /** Events that are missing above. */
  readonly eventsOmitted: number;
  /** What happened between interfaces; empty where no two of them saw the same frames. */
  readonly paths: readonly PathReport[];
}
