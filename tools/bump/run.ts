/**
 * A bump as a library: two links joined, a capture of both sides, an account of what was done.
 */

import { writeFileSync } from 'node:fs';
import { Bump, type Link } from 'rocev2';
import type {
  FaultDirection,
  NotifyOptions,
  TrackedConnection,
  TrackedConnectionEnd,
  WireFaults,
  WireRule,
} from 'rocev2/faults';
import { monotonicNs } from 'rocev2/node';
import type { RoceError } from 'rocev2/packets';
import { defined } from 'rocev2/packets';
import { RecordFile } from '../record-file.ts';
import { WallClock } from '../wall-clock.ts';
import type { BumpAccount, ConnectionAccount, EndAccount } from './account.ts';
import { BumpCapture } from './capture.ts';
import { BumpRecorder, timeText } from './recorder.ts';

export interface RunBumpOptions {
  /** Ethernet links, not started yet. The bump starts and closes them. */
  readonly a: Link;
  readonly b: Link;
  readonly rules?: readonly WireRule[];
  readonly faults?: WireFaults;
  /** Sends congestion notifications for what it marks; default no. */
  readonly notify?: boolean | NotifyOptions;
  /** Seed of all random decisions; default 1. */
  readonly seed?: number;
  /** pcapng with both sides and a comment on every frame that was touched. */
  readonly capturePath?: string;
  /** Called once when the capture could not be written on, such as on a full disk; the bump goes on. */
  readonly captureFailed?: (failure: RoceError) => void;
  /** Called for every frame that has come in. */
  readonly onFrame?: (() => void) | undefined;
  /** JSON, written by `stop`. */
  readonly accountPath?: string;
}

export interface RunningBump {
  readonly bump: Bump;
  /** Resolves when a link has ended: with undefined after `stop`, with the reason otherwise. Never rejects. */
  readonly closed: Promise<RoceError | undefined>;
  /** The account so far. */
  account(): BumpAccount;
  /** Ends forwarding, closes the links, writes the files. May be called more than once. */
  stop(): Promise<BumpAccount>;
}

/** @throws RoceError ERR_ROCE_ARGUMENT for rules and faults, ERR_ROCE_LINK_UNAVAILABLE for a link */
export async function runBump(options: RunBumpOptions): Promise<RunningBump> {
  const { capturePath, accountPath, onFrame, captureFailed, ...parts } = options;
  const { a, b } = parts;
  const clock = new WallClock();
  const startedNs = monotonicNs();
  const started = timeText(clock, startedNs);
  const comment = `seed ${parts.seed ?? 1}`;
  let file: RecordFile | undefined;
  const capture =
    capturePath === undefined ? undefined : new BumpCapture(() => file?.grown(), [a.name, b.name], clock, comment);
  if (capture !== undefined && capturePath !== undefined) file = new RecordFile(capturePath, capture, captureFailed);
  const closeCapture = (): void => file?.close();
  const recorder = new BumpRecorder(clock, capture, onFrame);
  let bump: Bump;
  try {
    bump = new Bump({ ...parts, observer: recorder });
    await bump.start();
  } catch (error) {
    closeCapture();
    throw error;
  }
  let lost: RoceError | undefined;
  void bump.closed.then((error) => {
    lost = error;
  });
  const account = (): BumpAccount => ({
    seed: bump.engine.seed,
    a: a.name,
    b: b.name,
    started,
    ended: timeText(clock, monotonicNs()),
    ...(lost === undefined ? {} : { error: lost.message }),
    ...defined({ capture: capturePath, captureError: file?.failure?.message }),
    faults: options.faults ?? {},
    rules: bump.rules.map(({ name, rule, matches, applied, impossible }) => ({
      name,
      rule,
      matches,
      applied,
      impossible,
    })),
    directions: copyOf(bump.counters),
    ...(bump.notifications === undefined ? {} : { notifications: copyOf(bump.notifications) }),
    connections: bump.conversations.map(describeConnection),
    events: [...recorder.events],
    eventsOmitted: recorder.eventsOmitted,
  });
  const stop = async (): Promise<BumpAccount> => {
    await bump.close();
    await bump.closed;
    closeCapture();
    const final = account();
    if (accountPath !== undefined) writeFileSync(accountPath, `${JSON.stringify(final, null, 2)}\n`);
    return final;
  };
  let stopping: Promise<BumpAccount> | undefined;
  return {
    bump,
    closed: bump.closed,
    account,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function copyOf<T>({
  'a-to-b': there,
  'b-to-a': back,
}: Readonly<Record<FaultDirection, T>>): Record<FaultDirection, T> {
  return { 'a-to-b': { ...there }, 'b-to-a': { ...back } };
}

function describeConnection({ connection, learnt, a, b }: TrackedConnection): ConnectionAccount {
  return { connection, learnt, a: describeEnd(a), b: describeEnd(b) };
}

function describeEnd({ address, qpn, startingPsn }: TrackedConnectionEnd): EndAccount {
  return {
    address: address.toString(),
    ...(qpn < 0 ? {} : { qpn }),
    ...(startingPsn < 0 ? {} : { startingPsn }),
  };
}
