/** All deliberate bugs. */
import { REPLY_MUTANTS } from './replies.ts';
import { REQUESTER_MUTANTS } from './requester.ts';
import { RESPONDER_MUTANTS } from './responder.ts';
import type { Mutant } from './types.ts';

export const MUTANTS: readonly Mutant[] = [...RESPONDER_MUTANTS, ...REPLY_MUTANTS, ...REQUESTER_MUTANTS];
