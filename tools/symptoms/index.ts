/** All scenes there are. Owns the list of lists. */
import { SCENES_A } from './list-a.ts';
import { SCENES_B } from './list-b.ts';
import { SCENES_C } from './list-c.ts';
import { SCENES_D } from './list-d.ts';
import { SCENES_E } from './list-e.ts';
import { SCENES_F } from './list-f.ts';
import type { Scene } from './scene.ts';

export type { Scene } from './scene.ts';

/** Every scene of every symptom, in the order of ref:analyzer#1. */
export function allScenes(): readonly Scene[] {
  return [...SCENES_A, ...SCENES_B, ...SCENES_C, ...SCENES_D, ...SCENES_E, ...SCENES_F];
}
