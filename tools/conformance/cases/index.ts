/** All cases, area by area. */

import type { Case } from '../tester/case.ts';
import { ACK_RESPONDER_CASES } from './ack-responder.ts';
import { ATM_CASES } from './atm.ts';
import { KEY_CASES } from './key.ts';
import { LEN_CASES } from './len.ts';
import { MPE_CASES } from './mpe.ts';
import { OPS_CASES } from './ops.ts';
import { RD_CASES } from './rd.ts';
import { REQ_COMPLETION_CASES } from './req-completions.ts';
import { REQ_NAK_CASES } from './req-naks.ts';
import { RNR_RESPONDER_CASES } from './rnr-responder.ts';
import { RSP_PSN_CASES } from './rsp-psn.ts';
import { UC_CASES } from './uc.ts';

/** In the order of the catalogue's areas. */
export const CASES: readonly Case[] = [
  ...RSP_PSN_CASES,
  ...OPS_CASES,
  ...LEN_CASES,
  ...KEY_CASES,
  ...RD_CASES,
  ...ATM_CASES,
  ...ACK_RESPONDER_CASES,
  ...RNR_RESPONDER_CASES,
  ...REQ_COMPLETION_CASES,
  ...REQ_NAK_CASES,
  ...UC_CASES,
  ...MPE_CASES,
];
