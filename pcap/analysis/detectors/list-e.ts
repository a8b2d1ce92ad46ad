/** Symptoms 23 and further of ref:analyzer#1: path migration, pauses, notifications. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { MIGREQ_FLIP } from './migreq-flip.ts';

/** In the order of the table. */
export const SYMPTOMS_E: readonly Symptom[] = [MIGREQ_FLIP];
