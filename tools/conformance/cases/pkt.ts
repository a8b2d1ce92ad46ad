/** Area PKT: Packet validation. The cases of all its parts. */
import type { Case } from '../tester/case.ts';
import { PKT_INTEGRITY_CASES } from './pkt-integrity.ts';

export const PKT_CASES: readonly Case[] = [...PKT_INTEGRITY_CASES];
