/** The scenes of symptoms 11 to 20 of ref:analyzer#1. Owns the list, nothing else. */
import { ICRC_INVALID_SCENES } from './icrc-invalid.ts';
import { MTU_MISMATCH_SCENES } from './mtu-mismatch.ts';
import type { Scene } from './scene.ts';

/** All of them, in the order of the table. */
export const SCENES_B: readonly Scene[] = [...MTU_MISMATCH_SCENES, ...ICRC_INVALID_SCENES];
