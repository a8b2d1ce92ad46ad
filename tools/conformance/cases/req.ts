/** Cases of area REQ: the requester. */
import type { Case } from '../tester/case.ts';
import { REQ_COMPLETION_CASES } from './req-completions.ts';
import { REQ_NAK_CASES } from './req-naks.ts';
import { REQ_TIMER_CASES } from './req-timers.ts';
import { REQ_WINDOW_CASES } from './req-windows.ts';

export const REQ_CASES: readonly Case[] = [
  ...REQ_COMPLETION_CASES,
  ...REQ_NAK_CASES,
  ...REQ_TIMER_CASES,
  ...REQ_WINDOW_CASES,
];
