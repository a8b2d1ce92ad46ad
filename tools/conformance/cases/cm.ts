/** Area CM: connection management, message by message (ref:conformance#CM). */
import type { Case } from '../tester/case.ts';
import { CM_ACTIVE_CASES } from './cm-active.ts';
import { CM_END_CASES } from './cm-ends.ts';
import { CM_LIMIT_CASES } from './cm-limits.ts';
import { CM_REQUEST_CASES } from './cm-requests.ts';

export const CM_CASES: readonly Case[] = [...CM_REQUEST_CASES, ...CM_END_CASES, ...CM_ACTIVE_CASES, ...CM_LIMIT_CASES];
