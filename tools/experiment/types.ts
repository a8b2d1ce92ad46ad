/**
 * An experiment as its file describes it: hosts, the wires between them, the commands of the hosts, and the
 * expectations. Data only; `schema.ts` checks that a file is one of these, `docs/experiments.md` explains every field
 * to a reader.
 */

import type { NotifyOptions } from 'rocev2/faults';
import type { CongestionOptions } from 'rocev2/transport';
import type { WireFaults, WireRule } from '../bump/rules-file.ts';
import type { KernelLabel } from '../lab/recipe.ts';
import type { RateStatistic } from './rates.ts';

export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** What a reader learns from it. */
  readonly about: string;
  /** Values that `${name}` stands for in the rest of the file; all of them substituted by now. */
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly hosts: Readonly<Record<string, HostSpec>>;
  readonly wires: readonly WireSpec[];
  readonly cases: readonly CaseSpec[];
}

export type ParameterValue = string | number;

export type HostSpec = GuestSpec | StackSpec | NamespaceSpec;

interface Station {
  /** With prefix length: `10.77.0.1/24`, `fd77::1/64`. */
  readonly addresses: readonly string[];
  /** Default: 52:54:00:00:00:01 for the first host, and so on. */
  readonly mac?: string;
  /**
   * Largest IP packet, default 1500 (path MTU 1024); 4200 gives path MTU 4096, 352 the smallest, 256. IPv6 needs 1280.
   */
  readonly mtu?: number;
}

/** A virtual machine with Linux and rdma_rxe; commands are lines of its shell. */
export interface GuestSpec extends Station {
  readonly kind: 'guest';
  readonly kernel: KernelLabel;
}

/** A device of this project, in this process; commands are `programs/index.ts`. */
export interface StackSpec extends Station {
  readonly kind: 'stack';
  /** Of its queue pairs' packets: DSCP << 2 | ECN. Default 0; 2 lets the network mark congestion. */
  readonly trafficClass?: number;
  /**
   * Its congestion control; default none. With it, packets are ECN-capable, with DSCP 26, unless `trafficClass` says
   * otherwise.
   */
  readonly congestion?: CongestionOptions;
}

/** A network namespace with one interface, `eth0`; commands are lines of the shell, `roce` among what they can run. */
export interface NamespaceSpec extends Station {
  readonly kind: 'namespace';
}

/** How a wire treats its frames. Absent: it carries them. */
export interface WireConduct {
  readonly rules?: readonly WireRule[];
  readonly faults?: WireFaults;
  /** Congestion notifications for what the wire marks, in the name of the receiver; default no. */
  readonly notify?: boolean | NotifyOptions;
  /** Seed of all random decisions on this wire, default 1. */
  readonly seed?: number;
}

export interface WireSpec extends WireConduct {
  readonly name: string;
  /** The hosts at its ends; `a-to-b` of a rule is from the first to the second. */
  readonly between: readonly [string, string];
}

export interface CaseSpec {
  readonly name: string;
  readonly about?: string;
  /** Settings of a wire in this case, by its name; they take the place of the wire's own, field by field. */
  readonly wires?: Readonly<Record<string, WireConduct>>;
  readonly run: readonly CaseStep[];
  readonly expect: readonly CaseExpectation[];
}

export type CaseStep = CommandStep | WaitStep | EndStep;

export interface CommandStep {
  /** By which expectations and `end` know it; default the host's name, where that is unique in the case. */
  readonly name?: string;
  readonly host: string;
  readonly command: string;
  /** The next step does not wait for its end; the case does. */
  readonly background?: boolean;
  /** The next step waits for this. */
  readonly ready?: Ready;
  /** Default 0. `any`: not looked at, and a command in the background is ended when all others have. */
  readonly exit?: ExitWanted;
  /** Another end that counts as the wanted one. */
  readonly excuse?: Excuse;
  /** Default 60. */
  readonly timeoutSeconds?: number;
}

export type ExitWanted = number | 'failure' | 'any';

export type Ready = { readonly listen: number } | { readonly prints: string };

export interface Excuse {
  readonly exit: number;
  readonly prints: string;
  readonly why: string;
}

/** Waits for the end of a command that runs in the background. */
export interface WaitStep {
  readonly wait: string;
}

/** Ends a command that runs in the background, in good order where it can. */
export interface EndStep {
  readonly end: string;
}

/** How many: exactly, or within bounds. */
export type Count = number | { readonly min?: number; readonly max?: number | undefined };

export type CaseExpectation =
  | FilterExpectation
  | SoundExpectation
  | IcrcExpectation
  | FindingsExpectation
  | EventExpectation
  | PrintsExpectation
  | CounterExpectation
  | RateExpectation;

interface Stated {
  /** What it shows, in a sentence for the reader. */
  readonly why?: string;
  /** The reason for which this must not hold: the experiment is as expected when it fails. */
  readonly mustFail?: string;
}

/** Frames that pass a Wireshark display filter. */
export interface FilterExpectation extends Stated {
  readonly wire: string;
  /** As seen at this end of the wire; default its first. */
  readonly at?: string;
  readonly filter: string;
  readonly count: Count;
}

/** Every frame parses, every ICRC is right, and tshark finds as many RoCE packets, none malformed. */
export interface SoundExpectation extends Stated {
  readonly wire: string;
  readonly at?: string;
  readonly sound: true;
}

/** Packets by their ICRC, which tshark does not check. */
export interface IcrcExpectation extends Stated {
  readonly wire: string;
  readonly at?: string;
  readonly icrc: 'good' | 'bad';
  readonly count: Count;
}

/** What the analyzer finds in the capture of a wire, both ends of it: these errors and warnings, and no others. */
export interface FindingsExpectation extends Stated {
  readonly wire: string;
  /** Ids, each to be found at least once; notes are not looked at. */
  readonly findings: readonly string[];
  /**
   * Ids of warnings that may be found as well where packets were sent again, or ACKs are late: a slow host causes them.
   */
  readonly tolerated?: readonly string[];
}

/** What the wire did by a rule, or by chance. */
export interface EventExpectation extends Stated {
  readonly wire: string;
  /** The name of a rule; or what was done, by rule or by chance: `dropped`, `duplicated`, `marked`, ... */
  readonly event: string;
  readonly count: Count;
}

/** Places in what a command has printed, on either stream, that a regular expression matches. */
export interface PrintsExpectation extends Stated {
  readonly run: string;
  readonly prints: string;
  /** Default: at least one. */
  readonly count?: Count;
}

/** Bits a second that the queue pairs of a stack's device were allowed in the case, as far as was seen. */
export interface RateExpectation extends Stated {
  readonly host: string;
  readonly rate: RateStatistic;
  readonly count: Count;
}

/** By how much a counter of a stack's device has grown in the case. */
export interface CounterExpectation extends Stated {
  readonly host: string;
  readonly counter: string;
  readonly count: Count;
}
