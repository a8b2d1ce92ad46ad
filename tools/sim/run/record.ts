/**
 * What is kept of a run: one line of JSON that stands for itself. Owns its fields and their order, so that the same run
 * gives the same bytes on every machine and in every shard: no wall time, no host, no path is in it.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Json } from '../scenario/json.ts';

const verdictSchema = z.strictObject({
  passed: z.boolean(),
  variant: z.string(),
  figure: z.string(),
  operator: z.enum(['<', '<=', '>', '>=', '==', '~']),
  found: z.number().nullable(),
  wanted: z.number().nullable(),
  terms: z.string(),
  why: z.string().exactOptional(),
});

const slowdownRowSchema = z.strictObject({
  fromBytes: z.number(),
  toBytes: z.number(),
  flows: z.number(),
  p50: z.number(),
  p95: z.number(),
  p99: z.number(),
});

/** A line, as it is read back. */
export const recordSchema = z.strictObject({
  index: z.int().min(0),
  runs: z.int().min(1),
  scenario: z.string(),
  digest: z.string(),
  version: z.string(),
  seed: z.int(),
  parameters: z.record(z.string(), z.json() as z.ZodType<Json>),
  variants: z.array(
    z.strictObject({
      name: z.string(),
      figures: z.record(z.string(), z.number()),
      slowdown: z.array(slowdownRowSchema),
    }),
  ),
  verdicts: z.array(verdictSchema),
  error: z.string().exactOptional(),
});

/** One run: a point of the sweep and a seed, every variant of it. */
export type RunRecord = z.infer<typeof recordSchema>;

/** The line of a record, without its end. */
export function recordLine(record: RunRecord): string {
  return JSON.stringify(record);
}

/** The difference between one scenario file and another of the same name; the same for every machine. */
export function digestOf(json: Json): string {
  return createHash('sha256').update(JSON.stringify(json)).digest('hex').slice(0, 12);
}

/** Whether everything a run should show has been shown. */
export function isGood({ verdicts, error }: RunRecord): boolean {
  return error === undefined && verdicts.every(({ passed }) => passed);
}
