/**
 * Compares the findings of the analyzer in a capture with those that it is known to show, so that every capture the lab
 * makes is checked for a false alarm. Owns which warnings a slow host excuses, and the texts for the rest. A note is no
 * alarm. Runs nothing.
 */
import { readFileSync } from 'node:fs';
import {
  type Analysis,
  Analyzer,
  type CapturedPacket,
  type Finding,
  RULE_LIST,
  readCapture,
  SYMPTOMS,
} from 'rocev2/pcap';

/** Which errors and warnings a capture may have. */
export interface FindingsWanted {
  /** Ids that must be found, each at least once. */
  readonly findings: readonly string[];
  /**
   * Ids of warnings that a slow host may cause: they need not be found, and do not count unless packets were sent
   * again.
   */
  readonly tolerated?: readonly string[] | undefined;
}

/** The findings of the analyzer, and those of them that were not expected. */
export interface FindingsVerdict {
  /** Errors and warnings, as `warning sequence-error`. */
  readonly alarms: readonly string[];
  /** Differences, a line each. */
  readonly faults: readonly string[];
  /** Frames that show the unexpected findings. */
  readonly frames: readonly number[];
}

/** Analyzes the capture in a file. */
export function analyzeCapture(path: string): Analysis {
  return analyze(readCapture(readFileSync(path)));
}

/** Analyzes packets, in the order of their capture. */
export function analyze(packets: Iterable<CapturedPacket>): Analysis {
  const analyzer = new Analyzer();
  for (const packet of packets) analyzer.packet(packet);
  return analyzer.finish();
}

/** Compares an analysis with its expectations. */
export function judgeFindings(analysis: Analysis, { findings, tolerated = [] }: FindingsWanted): FindingsVerdict {
  const alarms = analysis.findings.filter(({ severity }) => severity !== 'note');
  const missing = findings.filter((id) => !alarms.some((alarm) => alarm.id === id));
  const surplus = alarms.filter(
    (alarm) => !findings.includes(alarm.id) && !(tolerated.includes(alarm.id) && isExcused(alarm, analysis)),
  );
  return {
    alarms: [...new Set(alarms.map(({ severity, id }) => `${severity} ${id}`))],
    faults: [
      ...missing.map((id) => `the analyzer does not find ${id}`),
      ...surplus.map(({ severity, id, text }) => `the analyzer finds ${severity} ${id}: ${text}`),
    ],
    frames: surplus.flatMap(({ frames }) => frames),
  };
}

/**
 * Whether the capture confirms the warning: in each conversation packets were retransmitted, after a NAK where the
 * warning names one. Late ACKs are what a slow host is known by, and need no more than themselves.
 */
function isExcused({ id, severity, conversations: concerned }: Finding, { conversations }: Analysis): boolean {
  if (severity !== 'warning' || concerned.length === 0) return false;
  if (id === 'slow-responder') return true;
  return concerned.every((wanted) => {
    const requesters = conversations.filter((each) => each.id === wanted).flatMap(({ ends }) => ends.map(asked));
    const repeats = requesters.some(
      ({ retransmittedPackets, responses }) => retransmittedPackets + responses.retransmittedPackets > 0,
    );
    const refused = requesters.some(({ naks }) => Object.keys(naks).length > 0);
    return repeats && (id !== 'sequence-error' || refused);
  });
}

const asked = <T>({ requester }: { readonly requester: T }): T => requester;

/** Whatever the analyzer can find. */
export const FINDING_IDS: ReadonlySet<string> = new Set([...SYMPTOMS, ...RULE_LIST].map(({ id }) => id));

/** Warnings that are true of an emulated guest whose timers run out while it waits for a processor. */
export const SLOW_HOST_WARNINGS: readonly string[] = [
  'duplicate-requests',
  'implied-nak',
  'retry-exceeded',
  'sequence-error',
  'slow-responder',
];
