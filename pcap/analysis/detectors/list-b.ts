/** Symptoms 11 to 20 of ref:analyzer#1. Owns the list, nothing else. */
import type { Symptom } from '../detector.ts';
import { CONNECT_TIMEOUT } from './connect-timeout.ts';
import { CONNECTION_REFUSED } from './connection-refused.ts';
import { DSCP_MISMATCH } from './dscp-mismatch.ts';
import { DUPLICATE_REQUESTS } from './duplicate-requests.ts';
import { ECN_MISCONFIGURED } from './ecn-misconfigured.ts';
import { ICRC_INVALID } from './icrc-invalid.ts';
import { MTU_MISMATCH } from './mtu-mismatch.ts';
import { PFC_STORM } from './pfc-storm.ts';
import { PORT_POLARISATION } from './port-polarisation.ts';
import { READ_STALL } from './read-stall.ts';

/** In the order of the table. */
export const SYMPTOMS_B: readonly Symptom[] = [
  MTU_MISMATCH,
  ICRC_INVALID,
  ECN_MISCONFIGURED,
  PFC_STORM,
  DSCP_MISMATCH,
  CONNECTION_REFUSED,
  CONNECT_TIMEOUT,
  DUPLICATE_REQUESTS,
  READ_STALL,
  PORT_POLARISATION,
];
