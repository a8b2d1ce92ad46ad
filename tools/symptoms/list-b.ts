/** The scenes of symptoms 11 to 20 of ref:analyzer#1. Owns the list, nothing else. */
import { CONNECTION_SCENES } from './connections.ts';
import { DSCP_MISMATCH_SCENES } from './dscp-mismatch.ts';
import { DUPLICATE_REQUESTS_SCENES } from './duplicate-requests.ts';
import { ECN_MISCONFIGURED_SCENES } from './ecn-misconfigured.ts';
import { ICRC_INVALID_SCENES } from './icrc-invalid.ts';
import { MTU_MISMATCH_SCENES } from './mtu-mismatch.ts';
import { PFC_STORM_SCENES } from './pfc-storm.ts';
import { PORT_POLARISATION_SCENES } from './port-polarisation.ts';
import { READ_STALL_SCENES } from './read-stall.ts';
import type { Scene } from './scene.ts';

/** All of them, in the order of the table. */
export const SCENES_B: readonly Scene[] = [
  ...MTU_MISMATCH_SCENES,
  ...ICRC_INVALID_SCENES,
  ...ECN_MISCONFIGURED_SCENES,
  ...PFC_STORM_SCENES,
  ...DSCP_MISMATCH_SCENES,
  ...CONNECTION_SCENES,
  ...DUPLICATE_REQUESTS_SCENES,
  ...READ_STALL_SCENES,
  ...PORT_POLARISATION_SCENES,
];
