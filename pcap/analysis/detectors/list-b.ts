/** Symptoms 11 to 20 of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';

/** In the order of the table. */
export const SYMPTOMS_B: readonly Symptom[] = [];
