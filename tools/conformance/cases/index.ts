/** All cases, area by area. */
import type { Case } from '../tester/case.ts';

export const CASES: readonly Case[] = [];
