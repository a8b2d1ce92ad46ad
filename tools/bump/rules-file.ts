/**
 * Rules and faults as files carry them: the shape that JSON must have, and the reading of such a file.
 *
 * Owns the zod schemas, typed against the interfaces of src/faults so that neither can leave the other. Ranges and
 * names that need knowledge of packets (opcodes, fields) are checked by `compileRules` and `checkFaultSpec`, as for
 * rules made in a program.
 */
import { readFileSync } from 'node:fs';
import {
  compileRules,
  FAULT_ACTIONS,
  FAULT_DIRECTIONS,
  type FaultSpec,
  type NotifyOptions,
  type WireCondition,
  type WireFaults,
  type WireRule,
} from 'rocev2/faults';
import { RoceError } from 'rocev2/packets';
import type { EcnProfile } from 'rocev2/sim';
import { z } from 'zod';

export type { WireFaults, WireRule } from 'rocev2/faults';
export { FAULT_DIRECTIONS } from 'rocev2/faults';

const integer = (min: number, max: number) => z.int().min(min).max(max);
const share = z.number().min(0).max(1);
const nanoseconds = integer(0, Number.MAX_SAFE_INTEGER);
const counted = integer(1, Number.MAX_SAFE_INTEGER);
const qpn = integer(0, 0xff_ff_ff);
const relativePsn = integer(-0x80_00_00, Number.MAX_SAFE_INTEGER);
const oneOrRange = (one: typeof counted) =>
  z.union([one, z.tuple([one, one])], { error: 'a whole number in range is expected, or [first, last]' });

const wireConditionSchema = z.strictObject({
  direction: z.enum(FAULT_DIRECTIONS).exactOptional(),
  opcode: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'a name or a list of names is expected' })
    .exactOptional(),
  qpn: qpn.exactOptional(),
  sourceQpn: qpn.exactOptional(),
  psn: oneOrRange(relativePsn).exactOptional(),
  iteration: counted.exactOptional(),
  connection: counted.exactOptional(),
  nth: oneOrRange(counted).exactOptional(),
  every: counted.exactOptional(),
  probability: share.exactOptional(),
}) satisfies z.ZodType<WireCondition>;

/** One `WireRule`. */
export const wireRuleSchema = z.strictObject({
  name: z.string().min(1).exactOptional(),
  on: wireConditionSchema,
  do: z.enum(FAULT_ACTIONS),
  times: counted.exactOptional(),
  delayNs: nanoseconds.exactOptional(),
  copies: counted.exactOptional(),
  behind: counted.exactOptional(),
  bit: integer(0, Number.MAX_SAFE_INTEGER).exactOptional(),
  set: z.record(z.string(), z.int()).exactOptional(),
  fixIcrc: z.boolean().exactOptional(),
}) satisfies z.ZodType<WireRule>;

const ecnProfileSchema = z.strictObject({
  kminBytes: nanoseconds,
  kmaxBytes: nanoseconds,
  pmax: share,
}) satisfies z.ZodType<EcnProfile>;

/** One `FaultSpec`: the faults of one direction. */
export const faultSpecSchema = z.strictObject({
  loss: share.exactOptional(),
  duplicate: share.exactOptional(),
  duplicateDelayNs: nanoseconds.exactOptional(),
  reorder: share.exactOptional(),
  reorderDelayNs: nanoseconds.exactOptional(),
  corrupt: share.exactOptional(),
  ceMark: share.exactOptional(),
  delayNs: nanoseconds.exactOptional(),
  jitterNs: nanoseconds.exactOptional(),
  rateBps: z.number().min(1).exactOptional(),
  queueBytes: nanoseconds.exactOptional(),
  ecn: ecnProfileSchema.exactOptional(),
}) satisfies z.ZodType<FaultSpec>;

/** `WireFaults`: the faults of both directions. */
export const wireFaultsSchema = z.strictObject({
  aToB: faultSpecSchema.exactOptional(),
  bToA: faultSpecSchema.exactOptional(),
}) satisfies z.ZodType<WireFaults>;

/** `true`, or a `NotifyOptions`: congestion notifications for what the wire marks. */
export const notifySchema = z.union(
  [
    z.boolean(),
    z.strictObject({
      minTimeBetweenCnpsNs: nanoseconds.exactOptional(),
      cnpDscp: integer(0, 63).exactOptional(),
      becn: z.union([z.literal(0), z.literal(1)]).exactOptional(),
    }),
  ],
  { error: 'true, false or an object with minTimeBetweenCnpsNs, cnpDscp and becn is expected' },
) satisfies z.ZodType<boolean | NotifyOptions>;

/** What a file of rules holds. A bare list of rules is taken for `{ "rules": [...] }`. */
export interface RulesFile {
  readonly rules?: readonly WireRule[];
  readonly faults?: WireFaults;
  readonly notify?: boolean | NotifyOptions;
  readonly seed?: number;
}

export const rulesFileSchema = z.strictObject({
  rules: z.array(wireRuleSchema).exactOptional(),
  faults: wireFaultsSchema.exactOptional(),
  notify: notifySchema.exactOptional(),
  seed: integer(0, Number.MAX_SAFE_INTEGER).exactOptional(),
}) satisfies z.ZodType<RulesFile>;

/** Reads a file of rules. @throws RoceError ERR_ROCE_ARGUMENT naming the file and the place in it */
export function readRulesFile(path: string): RulesFile {
  const fault = (what: string, cause?: unknown) => new RoceError('ERR_ROCE_ARGUMENT', `${path}: ${what}`, { cause });
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw fault(error instanceof Error ? error.message : String(error), error);
  }
  const parsed = rulesFileSchema.safeParse(Array.isArray(json) ? { rules: json } : json);
  if (!parsed.success) throw fault(describeIssues(parsed.error));
  try {
    compileRules(parsed.data.rules ?? []);
  } catch (error) {
    throw error instanceof RoceError ? fault(error.message, error) : error;
  }
  return parsed.data;
}

/** What is wrong, each with its place: `rules[0].on.psn: Invalid input`. */
export function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${placeOf(issue.path)}: ${issue.message}`).join('; ');
}

function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return place === '' ? 'the whole' : place.replace(/^\./, '');
}
