/** The scenes of symptoms 21 and 22 of ref:analyzer#1. Owns the list, nothing else. */
import { PKEY_MISMATCH_SCENES } from './pkey-mismatch.ts';
import type { Scene } from './scene.ts';
import { VLAN_MISMATCH_SCENES } from './vlan-mismatch.ts';

/** All of them, in the order of the table. */
export const SCENES_C: readonly Scene[] = [...VLAN_MISMATCH_SCENES, ...PKEY_MISMATCH_SCENES];
