/**
 * Automatic path migration: a connection has two paths to its peer and moves to the alternate one when the first one
 * fails, or when the peer has migrated. Owns the paths, the states of ibv_mig_state and the MigReq bit; the queue pair
 * calls it for packets and failures.
 *
 *   MIGRATED  one path; packets carry MigReq 1
 *   REARM     there is an alternate path; packets carry MigReq 0, and one of the peer's with 0 shows that both are
 *   ready: ARMED
 *   ARMED     a packet with MigReq 1 on the alternate path, retries that ran out, or the application: MIGRATED, by that
 *   path
 *
 * Rules: ibv_modify_qp(3) (path_mig_state, alt_ah_attr), ref:wire#4 (both values of the bit are taken from a peer that
 * does not migrate).
 */
import { RoceError } from '../packets/errors.ts';
import { type Frame, frameDestinationIs, frameSourceIs } from '../packets/frame.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpConfig, QpSettings } from './qp-config.ts';
import type { QpPath } from './qp-path.ts';

/**
 * Throws ERR_ROCE_ARGUMENT for ARMED, which only the peer's packets lead to, and for an alternate path that is not
 * there.
 */
export function checkMigration({ pathMigState, altPath }: QpAttributes, config: QpConfig): void {
  if (pathMigState === MigState.Armed)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a path is armed by the packets of the peer; ask for rearm');
  if (pathMigState === MigState.Rearm && altPath === undefined && config.altPath === undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'there is no alternate path to arm');
}

/** What of a queue pair path migration owns: written by the functions below and by nothing else. */
export type PathSettings = Pick<QpSettings, 'path' | 'altPath' | 'pathMigState' | 'migReq'>;

/** Applies what `checkMigration` found good; true when the application demands the alternate path now. */
export function applyPaths({ path, altPath, pathMigState, migReq }: QpAttributes, settings: PathSettings): boolean {
  if (path !== undefined) settings.path = path;
  if (migReq !== undefined) settings.migReq = migReq;
  if (altPath !== undefined) settings.altPath = altPath;
  if (pathMigState === MigState.Rearm) {
    settings.pathMigState = MigState.Rearm;
    settings.migReq = 0;
  }
  return pathMigState === MigState.Migrated && settings.pathMigState !== MigState.Migrated;
}

/** The move to RESET: no path is known, and packets carry the MigReq bit that the kind of peer has. */
export function resetPaths(settings: PathSettings, migReq: 0 | 1): void {
  settings.path = undefined;
  settings.altPath = undefined;
  settings.pathMigState = MigState.Migrated;
  settings.migReq = migReq;
}

/** Moves to the alternate path; there is none from then on. False, and nothing changes, when there was none. */
export function migrate(settings: PathSettings): boolean {
  if (settings.altPath === undefined) return false;
  settings.path = settings.altPath;
  settings.altPath = undefined;
  settings.pathMigState = MigState.Migrated;
  settings.migReq = 1;
  return true;
}

/**
 * Takes what a packet shows of the peer's paths: in REARM, that both ends are ready; in ARMED, returning true, that the
 * peer has migrated.
 */
export function peerMigrated(frame: Frame, settings: PathSettings): boolean {
  const { path, altPath } = settings;
  if (settings.pathMigState === MigState.Rearm) {
    if (frame.migReq === 0 && path !== undefined && isOnPath(frame, path)) settings.pathMigState = MigState.Armed;
    return false;
  }
  return frame.migReq === 1 && altPath !== undefined && isOnPath(frame, altPath);
}

/** Whether a packet has the addresses of this path. */
export function isOnPath(frame: Frame, path: QpPath): boolean {
  return frameSourceIs(frame, path.remote) && frameDestinationIs(frame, path.local);
}
