/** Area PKT: Packet validation. The cases of all its parts. */
import type { Case } from '../tester/case.ts';
import { PKT_FIELD_CASES } from './pkt-fields.ts';
import { PKT_INTEGRITY_CASES } from './pkt-integrity.ts';
import { PKT_ORDER_CASES } from './pkt-order.ts';

export const PKT_CASES: readonly Case[] = [...PKT_INTEGRITY_CASES, ...PKT_FIELD_CASES, ...PKT_ORDER_CASES];
