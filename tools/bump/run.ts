/**
 * A bump as a library: two links joined, a capture of both sides, an account of what was done.
 */
import { RoceError } from '../../packets/errors.ts';
import type { WireFaults, WireRule } from '../../src/faults/rule.ts';
import type { Link } from '../../src/links/link.ts';
import type { BumpAccount } from './account.ts';

export interface RunBumpOptions {
  /** Ethernet links, not started yet. The bump starts and closes them. */
  readonly a: Link;
  readonly b: Link;
  readonly rules?: readonly WireRule[];
  readonly faults?: WireFaults;
  /** Of everything that chance decides; default 1. */
  readonly seed?: number;
  /** pcapng with both sides and a comment on every frame that was touched. */
  readonly capturePath?: string;
  /** JSON, written by `stop`. */
  readonly accountPath?: string;
}

export interface RunningBump {
  /** Resolves when a link has ended: with undefined after `stop`, with the reason otherwise. Never rejects. */
  readonly closed: Promise<RoceError | undefined>;
  /** Ends forwarding, closes the links, writes the files. May be called more than once. */
  stop(): Promise<BumpAccount>;
}

/** @throws RoceError ERR_ROCE_ARGUMENT for rules and faults, ERR_ROCE_LINK_UNAVAILABLE for a link */
export function runBump(_options: RunBumpOptions): Promise<RunningBump> {
  return Promise.reject(new RoceError('ERR_ROCE_STATE', 'the bump is being written'));
}
