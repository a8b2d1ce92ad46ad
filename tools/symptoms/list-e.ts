/** The scenes of what a fabric spreads, pauses and marks, and of path migration. Owns the list, nothing else. */
import { CNP_STORM_SCENES } from './cnp-storm.ts';
import { FEW_PORTS_SCENES } from './few-ports.ts';
import { MIGREQ_FLIP_SCENES } from './migreq-flip.ts';
import { PFC_WATCHDOG_SCENES } from './pfc-watchdog.ts';
import type { Scene } from './scene.ts';

/** All of them. */
export const SCENES_E: readonly Scene[] = [
  ...FEW_PORTS_SCENES,
  ...MIGREQ_FLIP_SCENES,
  ...PFC_WATCHDOG_SCENES,
  ...CNP_STORM_SCENES,
];
