/** The scenes of what a fabric spreads, pauses and marks, and of path migration. Owns the list, nothing else. */
import { FEW_PORTS_SCENES } from './few-ports.ts';
import { MIGREQ_FLIP_SCENES } from './migreq-flip.ts';
import type { Scene } from './scene.ts';

/** All of them. */
export const SCENES_E: readonly Scene[] = [...FEW_PORTS_SCENES, ...MIGREQ_FLIP_SCENES];
