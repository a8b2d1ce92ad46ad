/**
 * The interface between the tracker and the detectors. Each detector looks for one symptom.
 *
 * Owns the interface only. A detector keeps its own bounded memory, sees every packet and event once and in order, and
 * reports at the end.
 */
import type { PacketFacts } from './facts.ts';
import type {
  CaptureLimit,
  CaptureReport,
  ConversationReport,
  Evidence,
  Finding,
  TransportEvent,
  Vantage,
} from './types.ts';

/** The final figures that a detector gets at the end of a capture. */
export interface DetectorContext {
  /** What the capture is made of. */
  readonly capture: CaptureReport;
  /** RoCEv2 packets by the priority that they travel with, 0 to 7: that of their tag, and else that of their DSCP. */
  readonly packetsByPriority: readonly number[];
  /** What it cannot know. Alarms that rest on it are lowered when they are reported (`evidence.ts`). */
  readonly limits: readonly CaptureLimit[];
  /** Where it was taken. */
  readonly vantages: readonly Vantage[];
  /** All that were followed, with their final figures. */
  readonly conversations: readonly ConversationReport[];
  /** The conversation of this number, or the one that it turned out to be a half of; undefined for 0. */
  conversation(id: number): ConversationReport | undefined;
  /**
   * Whether another interface captured packets that this end (0 or 1) of a conversation sent. Where each direction is
   * mirrored by an interface of its own, an interface without responses proves nothing.
   */
  seenElsewhere(conversation: ConversationReport, sender: 0 | 1): boolean;
  /** Adds a finding; id, advice and commands not given are those of the symptom. */
  report(finding: FindingDraft): void;
}

/** A finding as a detector hands it in. */
export interface FindingDraft extends Pick<Finding, 'severity' | 'text'> {
  /** In the place of the symptom's own. */
  readonly id?: string;
  /** Packets that prove it; those beyond `MOST_FRAMES` are counted only. */
  readonly frames?: readonly number[];
  /** Default: the number of `frames`. */
  readonly frameCount?: number;
  /** Default: none. */
  readonly conversations?: readonly number[];
  /** Default: none. */
  readonly evidence?: Finding['evidence'];
  /** In the place of the symptom's own. */
  readonly advice?: readonly string[];
  /** In the place of the symptom's own. */
  readonly commands?: readonly string[];
  /** In the place of the symptom's own. */
  readonly explains?: readonly string[];
  /** What it rests on beyond its packets; default: what the table in `evidence.ts` has for its id. */
  readonly restsOn?: readonly Evidence[];
}

/** Looks for one symptom in one capture. */
export interface Detector {
  /**
   * Kinds of packets that `packet` needs, bits of `PacketKind`; default: all. The value may change. A larger set takes
   * effect with the packet after the next one of kind `Other` or `Management`, or after the next event. A smaller set
   * takes effect some time later.
   */
  readonly interest?: number;
  /** Every packet of the capture, RoCE or not, that is of a kind in `interest`. */
  packet?(facts: PacketFacts): void;
  /**
   * Every transport event, also those that the report omits. An event of one half of a conversation keeps the id and
   * the ends of that half. The merged conversation may have the ends the other way round: compare addresses.
   */
  event?(event: TransportEvent): void;
  /** The capture has ended. */
  finish(context: DetectorContext): void;
}

/** A symptom: what users see, its cause, what to do about it, and its detector. Its page is `docs/symptoms.md#id`. */
export interface Symptom {
  /** Kebab case. */
  readonly id: string;
  /** Row in ref:analyzer#1; 0 for what that table does not have. */
  readonly row: number;
  /** A few words: "No answer at all". */
  readonly title: string;
  /** What the user sees: completion status, counter, complaint. */
  readonly complaint: string;
  /** Why that is so, two to five sentences. */
  readonly about: string;
  /** What to do, most promising first. */
  readonly advice: readonly string[];
  /** Commands that show more. */
  readonly commands: readonly string[];
  /** Ids of findings that this one is the cause of: no worse ones about no other conversations are left out. */
  readonly explains?: readonly string[];
  /** A detector for one capture. */
  make(): Detector;
}
