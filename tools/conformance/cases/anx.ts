/**
 * Area ANX: the RoCEv2 annex. The cases of all its parts; those of connection management (ANX-34 to ANX-38) are with
 * area CM.
 */
import type { Case } from '../tester/case.ts';
import { ANX_SENDER_CASES } from './anx-sender.ts';
import { ANX_STIMULI_CASES } from './anx-stimuli.ts';
import { ANX_VERBS_CASES } from './anx-verbs.ts';

export const ANX_CASES: readonly Case[] = [...ANX_STIMULI_CASES, ...ANX_SENDER_CASES, ...ANX_VERBS_CASES];
