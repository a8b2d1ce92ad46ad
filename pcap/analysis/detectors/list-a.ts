/** Symptoms 1 to 10 of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { FIRST_ERROR } from './first-error.ts';
import { GID_MISMATCH } from './gid-mismatch.ts';
import { IMPLIED_NAK } from './implied-nak.ts';
import { NO_REPLY } from './no-reply.ts';
import { REMOTE_ACCESS_ERROR } from './remote-access-error.ts';
import { REMOTE_INVALID_REQUEST } from './remote-invalid-request.ts';
import { REMOTE_OPERATIONAL_ERROR } from './remote-operational-error.ts';
import { RETRY_EXCEEDED } from './retry-exceeded.ts';
import { RNR_EXCEEDED } from './rnr-exceeded.ts';
import { SEQUENCE_ERROR } from './sequence-error.ts';

/** In the order of the table. */
export const SYMPTOMS_A: readonly Symptom[] = [
  NO_REPLY,
  RETRY_EXCEEDED,
  FIRST_ERROR,
  RNR_EXCEEDED,
  REMOTE_ACCESS_ERROR,
  REMOTE_INVALID_REQUEST,
  REMOTE_OPERATIONAL_ERROR,
  SEQUENCE_ERROR,
  IMPLIED_NAK,
  GID_MISMATCH,
];
