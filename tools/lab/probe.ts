/**
 * Whether this machine can run the lab, and if not, why, in one sentence. Reads only: fetches nothing, starts no guest.
 */
import { spawnSync } from 'node:child_process';
import { QEMU } from './qemu.ts';
import {
  chooseMirrors,
  findKeyring,
  INDEX_TARGET_ARGUMENTS,
  NO_KEYRING,
  NO_MIRROR,
  parseIndexTargets,
} from './sources.ts';
import { findTool } from './tool.ts';

export type LabAvailability = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** A mirror that cannot be reached is not seen here; building an image says so. */
export function labAvailable(): LabAvailability {
  const reason = missingTool() ?? unsuitableQemu(qemuVersion()) ?? missingSource();
  return reason === undefined ? { ok: true } : { ok: false, reason };
}

/** Why a qemu of that `--version` output cannot run guests, or undefined. */
export function unsuitableQemu(versionText: string): string | undefined {
  const match = /version (\d+)\.(\d+)/.exec(versionText);
  if (match === null) return `${QEMU} does not tell its version`;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  if (major > 7 || (major === 7 && minor >= 2)) return undefined;
  return `${QEMU} is version ${major}.${minor}, and joining a guest to a unix socket needs 7.2`;
}

function missingTool(): string | undefined {
  if (process.platform !== 'linux') return 'the lab builds its guests with the tools of a Debian machine';
  for (const [tool, packageName] of TOOLS) {
    if (findTool(tool) === undefined) return `${tool} is not installed (Debian package ${packageName})`;
  }
  return undefined;
}

function missingSource(): string | undefined {
  if (findKeyring() === undefined) return NO_KEYRING;
  if ((process.env['ROCE_LAB_MIRROR'] ?? '') !== '') return undefined;
  const targets = spawnSync('apt-get', [...INDEX_TARGET_ARGUMENTS], { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS });
  return chooseMirrors(parseIndexTargets(targets.stdout)) === undefined ? NO_MIRROR : undefined;
}

function qemuVersion(): string {
  return spawnSync(QEMU, ['--version'], { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS }).stdout ?? '';
}

const PROBE_TIMEOUT_MS = 20_000;
const TOOLS = [
  [QEMU, 'qemu-system-x86'],
  ['apt-get', 'apt'],
  ['apt-cache', 'apt'],
  ['dpkg-deb', 'dpkg'],
] as const;
