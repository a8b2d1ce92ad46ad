/** All symptoms: those of ref:analyzer#1, and others. Owns their order. */
import type { Symptom } from '../detector.ts';
import { SYMPTOMS_A } from './list-a.ts';
import { SYMPTOMS_B } from './list-b.ts';
import { SYMPTOMS_C } from './list-c.ts';
import { SYMPTOMS_D } from './list-d.ts';
import { SYMPTOMS_E } from './list-e.ts';
import { SYMPTOMS_F } from './list-f.ts';

/** Every symptom that is looked for. */
export const SYMPTOMS: readonly Symptom[] = [
  ...SYMPTOMS_A,
  ...SYMPTOMS_B,
  ...SYMPTOMS_C,
  ...SYMPTOMS_D,
  ...SYMPTOMS_E,
  ...SYMPTOMS_F,
];
