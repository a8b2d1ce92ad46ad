/** The scenes of symptoms 1 to 10 of ref:analyzer#1. Owns the list, nothing else. */
import { FIRST_ERROR_SCENES } from './first-error.ts';
import { GID_MISMATCH_SCENES } from './gid-mismatch.ts';
import { IMPLIED_NAK_SCENES } from './implied-nak.ts';
import { NO_REPLY_SCENES } from './no-reply.ts';
import { REMOTE_ACCESS_ERROR_SCENES } from './remote-access-error.ts';
import { REMOTE_INVALID_REQUEST_SCENES } from './remote-invalid-request.ts';
import { REMOTE_OPERATIONAL_ERROR_SCENES } from './remote-operational-error.ts';
import { RETRY_EXCEEDED_SCENES } from './retry-exceeded.ts';
import { RNR_EXCEEDED_SCENES } from './rnr-exceeded.ts';
import type { Scene } from './scene.ts';
import { SEQUENCE_ERROR_SCENES } from './sequence-error.ts';

/** All of them, in the order of the table. */
export const SCENES_A: readonly Scene[] = [
  ...NO_REPLY_SCENES,
  ...RETRY_EXCEEDED_SCENES,
  ...FIRST_ERROR_SCENES,
  ...RNR_EXCEEDED_SCENES,
  ...REMOTE_ACCESS_ERROR_SCENES,
  ...REMOTE_INVALID_REQUEST_SCENES,
  ...REMOTE_OPERATIONAL_ERROR_SCENES,
  ...SEQUENCE_ERROR_SCENES,
  ...IMPLIED_NAK_SCENES,
  ...GID_MISMATCH_SCENES,
];
