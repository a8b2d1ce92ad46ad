/** All cases, area by area. */

import type { Case } from '../tester/case.ts';
import { KEY_CASES } from './key.ts';
import { RD_CASES } from './rd.ts';
import { REQ_COMPLETION_CASES } from './req-completions.ts';
import { REQ_NAK_CASES } from './req-naks.ts';
import { RSP_PSN_CASES } from './rsp-psn.ts';

/** In the order of the catalogue's areas. */
export const CASES: readonly Case[] = [
  ...RSP_PSN_CASES,
  ...KEY_CASES,
  ...RD_CASES,
  ...REQ_COMPLETION_CASES,
  ...REQ_NAK_CASES,
];
