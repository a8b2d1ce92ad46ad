/** All cases, area by area. */

import type { Case } from '../tester/case.ts';
import { ACK_MERGED_CASES } from './ack-merged.ts';
import { ACK_REQUESTER_CASES } from './ack-requester.ts';
import { ACK_RESPONDER_CASES } from './ack-responder.ts';
import { ANX_CASES } from './anx.ts';
import { ATM_CASES } from './atm.ts';
import { CM_CASES } from './cm.ts';
import { ANX_CM_CASES } from './cm-paths.ts';
import { CNP_CASES } from './cnp.ts';
import { FORMER_LIFE_CASES } from './former-life.ts';
import { KEY_CASES } from './key.ts';
import { LEN_CASES } from './len.ts';
import { MC_CASES } from './mc.ts';
import { MIGRATION_CASES } from './migration.ts';
import { MPE_CASES } from './mpe.ts';
import { ND_CASES } from './nd.ts';
import { OPS_CASES } from './ops.ts';
import { OPS_IMMEDIATE_CASES } from './ops-immediate.ts';
import { PKQ_CASES } from './pkq.ts';
import { PKT_CASES } from './pkt.ts';
import { QPS_CASES } from './qps.ts';
import { RD_CASES } from './rd.ts';
import { RD_DEPTH_CASES } from './rd-depth.ts';
import { REQ_CASES } from './req.ts';
import { REQ_PROGRESS_CASES } from './req-progress.ts';
import { RNR_REQUESTER_CASES } from './rnr-requester.ts';
import { RNR_RESPONDER_CASES } from './rnr-responder.ts';
import { RSP_PSN_CASES } from './rsp-psn.ts';
import { SOLICITED_CASES } from './solicited.ts';
import { UC_CASES } from './uc.ts';
import { UD_CASES } from './ud.ts';
import { XRC_CASES } from './xrc.ts';

/** In the order of the catalogue's areas. */
export const CASES: readonly Case[] = [
  ...PKT_CASES,
  ...MIGRATION_CASES,
  ...RSP_PSN_CASES,
  ...FORMER_LIFE_CASES,
  ...OPS_CASES,
  ...OPS_IMMEDIATE_CASES,
  ...LEN_CASES,
  ...KEY_CASES,
  ...RD_CASES,
  ...RD_DEPTH_CASES,
  ...ATM_CASES,
  ...ACK_REQUESTER_CASES,
  ...ACK_RESPONDER_CASES,
  ...ACK_MERGED_CASES,
  ...RNR_REQUESTER_CASES,
  ...RNR_RESPONDER_CASES,
  ...REQ_CASES,
  ...REQ_PROGRESS_CASES,
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
  ...SOLICITED_CASES,
  ...XRC_CASES,
  ...ND_CASES,
];
