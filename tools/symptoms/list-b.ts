/** The scenes of symptoms 11 to 20 of ref:analyzer#1. Owns the list, nothing else. */
import type { Scene } from './scene.ts';

/** All of them, in the order of the table. */
export const SCENES_B: readonly Scene[] = [];
