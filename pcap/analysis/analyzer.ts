/**
 * The analysis of a capture: one pass over its packets, in bounded memory.
 *
 * Owns the order of the steps for each packet (dissection, ICRC, tracker, rules, detectors) and the assembly of the
 * report. It never throws, whatever the packets are, and does no I/O.
 *
 * ```ts
 * const analyzer = new Analyzer();
 * for (const packet of readCapture(bytes)) analyzer.packet(packet);
 * const { findings, conversations } = analyzer.finish();
 * ```
 */
import { FrameStatus } from '../../packets/frame.ts';
import { type Dissection, dissect, IcrcState, icrcState } from '../dissection.ts';
import { type CapturedPacket, nanosecondsSince } from '../types.ts';
import { CaptureTotals } from './capture-totals.ts';
import type { Detector } from './detector.ts';
import { DetectorDispatcher } from './detector-dispatcher.ts';
import { SYMPTOMS } from './detectors/index.ts';
import { EventLog } from './event-log.ts';
import { Limitations } from './evidence.ts';
import { Mark, type PacketFacts } from './facts.ts';
import { FindingList } from './finding-list.ts';
import type { Coverage } from './limits/coverage.ts';
import { moveDoubtful, withoutDoubtful } from './limits/doubtful-losses.ts';
import { LimitWatch } from './limits/limit-watch.ts';
import { moveSelective, withSelective } from './limits/selective-repeat.ts';
import { PathComparer } from './paths/path-compare.ts';
import { makeRuleChecker } from './rules/index.ts';
import { conversationReport } from './tracker/conversation.ts';
import { MutableFacts } from './tracker/mutable-facts.ts';
import { OtherInterfaces } from './tracker/other-interfaces.ts';
import { Tracker } from './tracker/tracker.ts';
import type { Analysis, ConversationReport, TransportEvent } from './types.ts';

/** How to look at a capture. */
export interface AnalyzerOptions {
  /** Conversations that are followed, at most; default 65,536. */
  readonly maxConversations?: number;
  /** Transport events that the report keeps, at most; default 100,000. Detectors see all. */
  readonly maxEvents?: number;
  /** All interfaces are one place, members of a LAG; default: each is a vantage point of its own. */
  readonly interfacesTogether?: boolean;
  /** Default true. Without it a packet with a wrong ICRC is treated as a good one. */
  readonly verifyIcrc?: boolean;
  /**
   * Called with every transport event as it becomes certain, those that the report omits included. What is known at the
   * end only may still change it: `Analyzer.reported` has it as it is then.
   */
  readonly onEvent?: (event: TransportEvent) => void;
}

/**
 * Looks at one capture.
 *
 * @example
 * ```ts
 * import { Analyzer, CaptureReader, LinkType, PcapngWriter } from 'rocev2/pcap';
 *
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * file.packet(wire, Uint8Array.of(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5), 0, 14, 1, 500);
 * const reader = new CaptureReader();
 * reader.push(file.take());
 * const analyzer = new Analyzer();
 * for (let packet = reader.next(); packet !== undefined; packet = reader.next()) analyzer.packet(packet);
 * const { capture, findings } = analyzer.finish();
 * console.log(capture.packets, capture.rocePackets, findings.length); // 1 0 0
 * ```
 */
export class Analyzer {
  readonly #verifyIcrc: boolean;
  readonly #facts = new MutableFacts();
  readonly #own = this.#facts.dissection;
  readonly #totals = new CaptureTotals();
  readonly #events: EventLog;
  readonly #tracker: Tracker;
  readonly #rules = makeRuleChecker();
  readonly #paths: PathComparer;
  readonly #limits: LimitWatch;
  readonly #detectors = SYMPTOMS.map((symptom) => ({ symptom, detector: symptom.make() }));
  /** Those that look at packets, and those that look at events. */
  readonly #dispatcher: DetectorDispatcher;
  readonly #listeners: readonly Detector[];
  readonly #onEvent: ((event: TransportEvent) => void) | undefined;
  /** How much of its traffic each interface has, at the end. */
  #coverage: ReadonlyMap<number, Coverage> | undefined;
  #analysis: Analysis | undefined;

  /** For one capture. */
  constructor(options: AnalyzerOptions = {}) {
    this.#verifyIcrc = options.verifyIcrc ?? true;
    this.#onEvent = options.onEvent;
    this.#events = new EventLog(options.maxEvents ?? DEFAULT_EVENTS);
    this.#tracker = new Tracker(this.#events, {
      maxConversations: options.maxConversations ?? DEFAULT_CONVERSATIONS,
      interfacesTogether: options.interfacesTogether ?? false,
    });
    this.#paths = new PathComparer({ maxEvents: options.maxEvents ?? DEFAULT_EVENTS });
    const tracker = this.#tracker;
    this.#limits = new LimitWatch({
      byId: (id) => tracker.byId(id),
      askedNs: ({ conversation, requester, dissection }) =>
        tracker
          .byId(conversation?.id ?? 0)
          ?.end(requester)
          .space?.askedNs(dissection.frame.psn) ?? Number.NaN,
      turnaround: ({ id }, requester) => tracker.byId(id)?.end(requester).requester.turnaround,
      omitted: () => tracker.omitted,
    });
    const all = this.#detectors.map(({ detector }) => detector);
    this.#dispatcher = new DetectorDispatcher(all);
    this.#listeners = all.filter((detector) => detector.event !== undefined);
  }

  /** What is known of the conversations now; the objects stay the same and their figures go on. */
  get conversations(): readonly ConversationReport[] {
    return this.#tracker.conversations;
  }

  /** The conversation into which the one with this number was merged; undefined while it is one of its own. */
  wholeOf(id: number):
    | {
        /** Its number. */
        readonly id: number;
        /** The part's end 0 is end 1 of the whole. */
        readonly crosswise: boolean;
      }
    | undefined {
    const whole = this.#tracker.byId(id)?.id ?? id;
    return whole === id ? undefined : { id: whole, crosswise: this.#tracker.isCrosswise(id) };
  }

  /**
   * An event that `onEvent` was called with, as the report has it: one event, or two where its packets differ. Right
   * after `finish`. Then the event of one half of a conversation is that of the whole, and what the capture lacks is
   * known, and whether packets are overtaken: a loss that cannot be told from that is `missing`.
   */
  reported(event: TransportEvent): readonly TransportEvent[] {
    const conversation = this.#tracker.byId(event.conversation);
    const told = withSelective(this.#tracker.ofWhole(event), conversation);
    return withoutDoubtful(told, this.#coverageOf(conversation), conversation);
  }

  /** The events so far. */
  get events(): readonly TransportEvent[] {
    return this.#events.kept;
  }

  /**
   * Analyzes the next packet. Its bytes are not used after the call. The result is the same object each time: read it
   * before the next call.
   *
   * @param known whether its ICRC is right, where the caller has verified it (`icrcState`); default: verified here
   * @param dissected what `dissect` makes of it, where the caller has it: not to be changed before the next call
   */
  packet(packet: CapturedPacket, known?: IcrcState, dissected?: Dissection): PacketFacts {
    const facts = this.#facts;
    const dissection = dissected ?? this.#own;
    facts.dissection = dissection;
    const status = dissected === undefined ? dissect(packet, dissection) : dissection.status;
    const icrc = known ?? (this.#verifyIcrc ? icrcState(dissection) : IcrcState.Unknown);
    const timeNs = nanosecondsSince(this.#totals.start(packet), packet);
    facts.begin(packet, timeNs, icrc);
    this.#totals.count(packet, dissection, icrc, timeNs);
    if (status === FrameStatus.Ok) this.#tracker.observe(facts);
    if (this.#rules.check(facts)) facts.marks |= Mark.Violation;
    this.#dispatcher.packet(facts);
    this.#paths.packet(facts);
    this.#limits.packet(facts);
    if (this.#events.hasFresh) {
      this.#events.drain(this.#tell);
      this.#dispatcher.updateInterests();
    }
    return facts;
  }

  /** Ends the analysis and returns the report. */
  finish(): Analysis {
    this.#analysis ??= this.#conclude();
    return this.#analysis;
  }

  readonly #tell = (event: TransportEvent): void => {
    this.#limits.event(event);
    for (const listener of this.#listeners) listener.event?.(event);
    this.#onEvent?.(event);
  };

  #conclude(): Analysis {
    const tracker = this.#tracker;
    this.#facts.begin(this.#facts.packet, this.#totals.durationNs, IcrcState.Unknown);
    tracker.finish(this.#facts);
    this.#events.drain(this.#tell);
    const capture = this.#totals.report();
    const paths = this.#paths.finish();
    const elsewhere = new OtherInterfaces(tracker.conversations);
    const seenElsewhere = (each: ConversationReport, sender: 0 | 1) => elsewhere.saw(each, sender);
    const {
      limits: own,
      vantages,
      coverage,
    } = this.#limits.finish({
      capture,
      conversations: tracker.conversations,
      seenElsewhere,
    });
    const limits = [...own, ...this.#paths.limits()];
    this.#coverage = coverage;
    for (const each of tracker.conversations) {
      moveSelective(each);
      moveDoubtful(each, this.#coverageOf(each));
    }
    this.#events.replace((event) => this.reported(event));
    const conversations = tracker.conversations.map(conversationReport);
    const byId = new Map(conversations.map((conversation) => [conversation.id, conversation]));
    const conversation = (id: number) => byId.get(tracker.byId(id)?.id ?? 0);
    const findings = new FindingList(conversation, new Limitations(limits, conversation));
    const packetsByPriority = this.#totals.byPriority;
    const context = { capture, packetsByPriority, limits, vantages, conversations, conversation, seenElsewhere };
    this.#rules.finish({ ...context, report: (draft) => findings.add(draft, undefined) });
    for (const { symptom, detector } of this.#detectors) {
      detector.finish({ ...context, report: (draft) => findings.add(draft, symptom) });
    }
    return {
      capture,
      vantages,
      limits,
      findings: findings.sorted(),
      conversations,
      conversationsOmitted: tracker.omitted,
      events: this.#events.kept,
      eventsOmitted: this.#events.omitted,
      paths,
    };
  }

  #coverageOf(conversation: ConversationReport | undefined): Coverage | undefined {
    return this.#coverage?.get(conversation?.interfaceIndex ?? -1);
  }
}

const DEFAULT_CONVERSATIONS = 65_536;
const DEFAULT_EVENTS = 100_000;
