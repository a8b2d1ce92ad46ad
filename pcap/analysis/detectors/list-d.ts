/** Symptoms of queue pairs over their lives, beyond the table of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { PEER_RESTARTED } from './peer-restarted.ts';
import { SLOW_RESPONDER } from './slow-responder.ts';
import { UC_LOSS } from './uc-loss.ts';
import { WRONG_STARTING_PSN } from './wrong-starting-psn.ts';

/** From the beginning of a connection to its end. */
export const SYMPTOMS_D: readonly Symptom[] = [WRONG_STARTING_PSN, SLOW_RESPONDER, UC_LOSS, PEER_RESTARTED];
