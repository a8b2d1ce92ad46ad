/** Symptoms of upper-layer protocols. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { NVME_NO_COMPLETION } from './nvme-no-completion.ts';

/** All of them. */
export const SYMPTOMS_F: readonly Symptom[] = [NVME_NO_COMPLETION];
