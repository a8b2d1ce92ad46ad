/** All deliberate bugs, in groups. */
import { PORT_MUTANTS } from './ports.ts';
import { REPLY_MUTANTS } from './replies.ts';
import { REQUESTER_MUTANTS } from './requester.ts';
import { RESPONDER_MUTANTS } from './responder.ts';
import { SENDING_MUTANTS } from './sending.ts';
import { SERVICE_MUTANTS } from './services.ts';
import { SERVING_MUTANTS } from './serving.ts';
import type { Mutant } from './types.ts';

/** By what they are bugs of. */
export const MUTANT_GROUPS: readonly (readonly [title: string, mutants: readonly Mutant[]])[] = [
  ['responder, to rules that were known', [...RESPONDER_MUTANTS, ...REPLY_MUTANTS]],
  ['requester and UC, to rules that were known', REQUESTER_MUTANTS],
  ['requester, completions, credits', SENDING_MUTANTS],
  ['responder, headers, keys, windows, defences', SERVING_MUTANTS],
  ['SRQ, XRC, UD, UC, migration, states', SERVICE_MUTANTS],
  ['connection manager, congestion, neighbours, multicast', PORT_MUTANTS],
];

export const MUTANTS: readonly Mutant[] = MUTANT_GROUPS.flatMap(([, mutants]) => mutants);
