/** All cases, area by area. */

import type { Case } from '../tester/case.ts';
import { ACK_REQUESTER_CASES } from './ack-requester.ts';
import { ACK_RESPONDER_CASES } from './ack-responder.ts';
import { ANX_CASES } from './anx.ts';
import { ATM_CASES } from './atm.ts';
import { CM_CASES } from './cm.ts';
import { ANX_CM_CASES } from './cm-paths.ts';
import { CNP_CASES } from './cnp.ts';
import { KEY_CASES } from './key.ts';
import { LEN_CASES } from './len.ts';
import { MC_CASES } from './mc.ts';
import { MPE_CASES } from './mpe.ts';
import { OPS_CASES } from './ops.ts';
import { PKQ_CASES } from './pkq.ts';
import { PKT_CASES } from './pkt.ts';
import { QPS_CASES } from './qps.ts';
import { RD_CASES } from './rd.ts';
import { REQ_CASES } from './req.ts';
import { RNR_REQUESTER_CASES } from './rnr-requester.ts';
import { RNR_RESPONDER_CASES } from './rnr-responder.ts';
import { RSP_PSN_CASES } from './rsp-psn.ts';
import { UC_CASES } from './uc.ts';
import { UD_CASES } from './ud.ts';

/** In the order of the catalogue's areas. */
export const CASES: readonly Case[] = [
  ...PKT_CASES,
  ...RSP_PSN_CASES,
  ...OPS_CASES,
  ...LEN_CASES,
  ...KEY_CASES,
  ...RD_CASES,
  ...ATM_CASES,
  ...ACK_REQUESTER_CASES,
  ...ACK_RESPONDER_CASES,
  ...RNR_REQUESTER_CASES,
  ...RNR_RESPONDER_CASES,
  ...REQ_CASES,
  ...UC_CASES,
  ...UD_CASES,
  ...MC_CASES,
  ...PKQ_CASES,
  ...CM_CASES,
  ...ANX_CASES,
  ...ANX_CM_CASES,
  ...CNP_CASES,
  ...MPE_CASES,
  ...QPS_CASES,
];
