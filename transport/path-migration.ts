/**
 * Automatic path migration: a connection that knows two ways to its peer and changes to the second when the first one fails, or when
 * the peer has changed. Owns the states of ibv_mig_state and the MigReq bit; the queue pair asks it about packets and failures.
 *
 *   MIGRATED  one way; packets carry MigReq 1
 *   REARM     there is a second way; packets carry MigReq 0, and one of the peer's without it shows that both are ready: ARMED
 *   ARMED     a packet with MigReq 1 on the second way, retries that ran out, or the application: MIGRATED, by the second way
 *
 * Rules: ibv_modify_qp(3) (path_mig_state, alt_ah_attr), ref:wire#4 (both values of the bit are taken from a peer that does not migrate).
 */
import { RoceError } from '../packets/errors.ts';
import { type Frame, frameDestinationIs, frameSourceIs } from '../packets/frame.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpConfig } from './qp-config.ts';
import type { QpPath } from './qp-path.ts';

/** Throws ERR_ROCE_ARGUMENT for what cannot be asked for: ARMED, which the peer's packets bring about, and a second way that is not there. */
export function checkMigration({ pathMigState, altPath }: QpAttributes, config: QpConfig): void {
  if (pathMigState === MigState.Armed)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a path is armed by the packets of the peer; ask for rearm');
  if (pathMigState === MigState.Rearm && altPath === undefined && config.altPath === undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'there is no alternate path to arm');
}

/** Applies what `checkMigration` found good; true when the application asks to change ways now. */
export function takeMigration({ pathMigState, altPath }: QpAttributes, config: QpConfig): boolean {
  if (altPath !== undefined) config.altPath = altPath;
  if (pathMigState === MigState.Rearm) {
    config.pathMigState = MigState.Rearm;
    config.migReq = 0;
  }
  return pathMigState === MigState.Migrated && config.pathMigState !== MigState.Migrated;
}

/** Takes the second way; there is none from then on. False, and nothing changes, when there was none. */
export function migrate(config: QpConfig): boolean {
  if (config.altPath === undefined) return false;
  config.path = config.altPath;
  config.altPath = undefined;
  config.pathMigState = MigState.Migrated;
  config.migReq = 1;
  return true;
}

/** What a packet says about the ways, when there are two: that both ends are ready, or, true, that the peer has changed. */
export function peerMigrated(frame: Frame, config: QpConfig): boolean {
  const { path, altPath } = config;
  if (config.pathMigState === MigState.Rearm) {
    if (frame.migReq === 0 && path !== undefined && isBy(frame, path)) config.pathMigState = MigState.Armed;
    return false;
  }
  return frame.migReq === 1 && altPath !== undefined && isBy(frame, altPath);
}

/** Whether a packet has come this way. */
export function isBy(frame: Frame, path: QpPath): boolean {
  return frameSourceIs(frame, path.remote) && frameDestinationIs(frame, path.local);
}
