/** Symptoms 1 to 10 of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';

/** In the order of the table. */
export const SYMPTOMS_A: readonly Symptom[] = [];
