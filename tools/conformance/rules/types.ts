/**
 * What a rule of the registry is. Data only; the rules themselves are in the files beside, one for each area.
 *
 * What they rest on: ref:conformance#1. IBTA documents are copyrighted: a rule is in our own words, and `source` names
 * a statement only as far as the project has read it or says where it is cited (`certainty`).
 */

/** The areas, in the order of ref:conformance#3. */
export const AREAS = [
  'PKT',
  'RSP-PSN',
  'OPS',
  'LEN',
  'KEY',
  'RD',
  'ATM',
  'ACK',
  'RNR',
  'REQ',
  'UC',
  'UD',
  'MC',
  'PKQ',
  'CM',
  'ANX',
  'CNP',
  'MPE',
  'QPS',
  'XRC',
  'ND',
] as const;
export type Area = (typeof AREAS)[number];

/** R: the wording was read. C: number or behaviour is cited by others. U: recalled, inferred or our own choice. */
export type Certainty = 'R' | 'C' | 'U';

/**
 * What breaking it means: a device that breaks a `must` fails; breaking a `should` or `may` is an allowed variation,
 * and is reported.
 */
export type Level = 'must' | 'should' | 'may';

/**
 * Which part of the device under test it is about; `both`: every sender and receiver of packets. `api`: verbs on the
 * device's host.
 */
export type RuleRole = 'responder' | 'requester' | 'both' | 'cm' | 'api';

/** A device known to break the rule, and how we know. */
export interface Deviation {
  /** The device: `rxe` for Linux rdma_rxe, `rocev2` for our own stack. */
  readonly device: string;
  /** Versions it is known of, as the lab names kernels (`6.1`); absent: all. */
  readonly versions?: readonly string[];
  /** What it does instead, a sentence. */
  readonly does: string;
  /** Where that can be seen: a source function (`rxe_resp.c#check_length`), a commit, a reference page. */
  readonly evidence: string;
  /** The device does not survive the stimulus. */
  readonly kills?: boolean;
  /**
   * It is not published yet (SECURITY.md): pages and result files say `withheld`. It comes from `embargo/`, never from
   * these files.
   */
  readonly withheld?: true;
}

/** One rule. */
export interface ConformanceRule {
  /** AREA-nn, stable. */
  readonly id: string;
  readonly area: Area;
  /** What it stands on: a statement, a public test, an implementation (ref:conformance#sources). */
  readonly source: string;
  readonly certainty: Certainty;
  readonly level: Level;
  readonly role: RuleRole;
  /** Whether the wire alone shows it, or an agent has to act on the device's host. */
  readonly needs: 'wire' | 'agent';
  /** Order of work, 1 first. */
  readonly priority: 1 | 2 | 3;
  /** The rule, one line. */
  readonly says: string;
  /** What shows it: stimulus and what is expected, one line. */
  readonly shownBy: string;
  /** Devices known to differ. */
  readonly deviations?: readonly Deviation[];
  /** Why no case tests it, where none does. */
  readonly untested?: string;
}
