/** The scenes of symptoms 1 to 10 of ref:analyzer#1. Owns the list, nothing else. */
import type { Scene } from './scene.ts';

/** All of them, in the order of the table. */
export const SCENES_A: readonly Scene[] = [];
