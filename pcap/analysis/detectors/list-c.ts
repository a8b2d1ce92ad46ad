/** Symptoms 21 and 22 of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { PKEY_MISMATCH } from './pkey-mismatch.ts';
import { VLAN_MISMATCH } from './vlan-mismatch.ts';

/** In the order of the table. */
export const SYMPTOMS_C: readonly Symptom[] = [VLAN_MISMATCH, PKEY_MISMATCH];
