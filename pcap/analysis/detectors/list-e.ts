/** Symptoms of path migration, of pauses and of notifications. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { CNP_STORM } from './cnp-storm.ts';
import { MIGREQ_FLIP } from './migreq-flip.ts';
import { PFC_WATCHDOG } from './pfc-watchdog.ts';

/** All of them. */
export const SYMPTOMS_E: readonly Symptom[] = [MIGREQ_FLIP, PFC_WATCHDOG, CNP_STORM];
