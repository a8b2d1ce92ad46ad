/**
 * What passed a bump, as values: every RoCE packet once as its sender sent it and once as its receiver got it, and what
 * the bump did on purpose. Owns the way from the bump's capture (pcap/ reads and dissects it) to both. Never judges.
 *
 * A bump's capture has two interfaces, one for each end of the wire: inbound is what that end sent, outbound what it
 * got. A comment on an inbound frame says what was done to it (tools/bump/recorder.ts).
 */
import {
  AETH_AT,
  Ecn,
  type Frame,
  FrameStatus,
  frameDestination,
  frameSource,
  RETH_AT,
  readAeth,
  readReth,
} from 'rocev2/packets';
import {
  type CapturedPacket,
  Direction,
  Dissection,
  dissect,
  IcrcState,
  icrcState,
  nanosecondsSince,
  readCapture,
} from 'rocev2/pcap';

/** Ends of a wire, as the bump calls them. */
export type TrafficEnd = 'a' | 'b';
export const otherEnd = (end: TrafficEnd): TrafficEnd => (end === 'a' ? 'b' : 'a');

/** One RoCE packet at one end of the wire. */
export interface TracePacket {
  /** Number of the frame in the capture, as Wireshark has it. */
  readonly number: number;
  /** When it passed the bump, in nanoseconds since the first frame of the capture. */
  readonly timeNs: number;
  /** Whose side of the bump it is seen on. */
  readonly end: TrafficEnd;
  /** What that end did with it. */
  readonly way: 'sent' | 'got';
  readonly opcode: number;
  /** 24 bits. */
  readonly psn: number;
  readonly destQpn: number;
  /** Addresses in text. */
  readonly source: string;
  readonly destination: string;
  /** Well-formed, and its ICRC is right: a receiver takes only such a packet. */
  readonly whole: boolean;
  readonly ackReq: boolean;
  /** Marked Congestion Experienced. */
  readonly marked: boolean;
  /** Of the AETH; -1 without one. */
  readonly syndrome: number;
  /** Of the RETH, where there is one. */
  readonly reth: { readonly va: bigint; readonly length: number } | undefined;
}

export const INJECTED_ACTIONS = [
  'dropped',
  'duplicated',
  'delayed',
  'held back',
  'corrupted',
  'marked',
  'rewritten',
] as const;
export type InjectedAction = (typeof INJECTED_ACTIONS)[number];

/** What the bump did to one packet. */
export interface Injection {
  readonly deeds: readonly InjectedAction[];
  /** The packet as it came in. */
  readonly packet: TracePacket;
}

export interface Trace {
  /** In the order in which they passed. */
  readonly packets: readonly TracePacket[];
  readonly injections: readonly Injection[];
}

/** Reads the capture of a bump. @throws RoceError ERR_ROCE_CAPTURE for a file that is none */
export function readTrace(capture: Uint8Array): Trace {
  const packets: TracePacket[] = [];
  const injections: Injection[] = [];
  const dissection = new Dissection();
  let first: CapturedPacket | undefined;
  for (const captured of readCapture(capture)) {
    first ??= captured;
    dissect(captured, dissection);
    const packet = packetOf(captured, dissection, nanosecondsSince(first, captured));
    if (packet === undefined) continue;
    packets.push(packet);
    if (packet.way === 'got') continue;
    const deeds = injectedActions(captured.comments);
    if (deeds.length > 0) injections.push({ deeds, packet });
  }
  return { packets, injections };
}

/** What a comment of the bump says was done. Names of rules are the user's, and stand in quotes. */
export function injectedActions(comments: readonly string[]): InjectedAction[] {
  const words = comments.map((comment) => comment.replaceAll(/"[^"]*"/g, '').split(';')[0] ?? '').join(',');
  const parts = words.split(',').map((part) => part.trim());
  return INJECTED_ACTIONS.filter((deed) => parts.some((part) => part.startsWith(deed)));
}

function packetOf(captured: CapturedPacket, dissection: Dissection, timeNs: number): TracePacket | undefined {
  const { frame, status } = dissection;
  if (frame.bthOffset < 0 || captured.direction === Direction.Unknown) return undefined;
  const whole = status === FrameStatus.Ok && icrcState(dissection) !== IcrcState.Bad;
  return {
    ...{ number: captured.number, timeNs, whole },
    end: captured.interfaceIndex === 0 ? 'a' : 'b',
    way: captured.direction === Direction.Inbound ? 'sent' : 'got',
    ...{ opcode: frame.opcode, psn: frame.psn, destQpn: frame.destQpn },
    source: `${frameSource(frame)}`,
    destination: `${frameDestination(frame)}`,
    ackReq: frame.ackReq === 1,
    marked: (frame.trafficClass & 3) === Ecn.Ce,
    syndrome: whole ? syndromeOf(frame) : -1,
    reth: whole ? rethOf(frame) : undefined,
  };
}

function syndromeOf({ view, bthOffset, opcode }: Frame): number {
  const at = AETH_AT[opcode] ?? -1;
  return at < 0 ? -1 : readAeth(view, bthOffset + at).syndrome;
}

function rethOf({ view, bthOffset, opcode }: Frame): TracePacket['reth'] {
  const at = RETH_AT[opcode] ?? -1;
  if (at < 0) return undefined;
  const { va, dmaLength } = readReth(view, bthOffset + at);
  return { va, length: dmaLength };
}
