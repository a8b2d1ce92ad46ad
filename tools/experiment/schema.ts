/**
 * Checks whether a file is an experiment: shapes by zod, then what shapes cannot express (names that must exist, ends
 * of wires). Owns the errors: each names the place in the JSON text. Never reads a file and never runs anything.
 */

import { compileRules } from 'rocev2/faults';
import { IpPrefix, parseMac, RoceError } from 'rocev2/packets';
import { z } from 'zod';
import { notifySchema, type WireRule, wireFaultsSchema, wireRuleSchema } from '../bump/rules-file.ts';
import { KERNELS } from '../lab/recipe.ts';
import { congestionSchema } from './congestion-schema.ts';
import { checkNames } from './names.ts';
import { RATE_STATISTICS } from './rates.ts';
import type {
  CaseExpectation,
  CaseSpec,
  CaseStep,
  Count,
  Excuse,
  Experiment,
  HostSpec,
  ParameterValue,
  Ready,
  WireConduct,
  WireSpec,
} from './types.ts';

/** Something wrong with a file, and where: `cases[0].expect[2].filter`. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** Checks what a file holds, its parameters substituted. */
export function parseExperiment(value: unknown): { experiment: Experiment } | { issues: readonly SchemaIssue[] } {
  const parsed = experimentSchema.safeParse(value);
  if (parsed.success) return { experiment: parsed.data };
  return { issues: issuesOf(parsed.error) };
}

/** The errors, with places as a reader of JSON writes them. */
export function issuesOf(error: z.ZodError): SchemaIssue[] {
  return error.issues.map(({ path, message }) => ({ path: pathText(path), message }));
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text.replace(/^\./, '');
}

/** An object that is told apart by the one of these keys it has: a wrong field is then reported for what was meant. */
function byKey<T>(schemas: Readonly<Record<string, z.ZodType<T>>>): z.ZodType<T> {
  const keys = Object.keys(schemas);
  return z.record(z.string(), z.unknown()).transform((value, context): T => {
    const found = keys.filter((key) => key in value);
    const [key = ''] = found;
    const schema = schemas[key];
    if (schema === undefined || found.length > 1) {
      const message = `Exactly one of ${keys.join(', ')} is expected, not ${found.join(' and ') || 'none'}`;
      context.issues.push({ code: 'custom', message, input: value, path: [] });
      return z.NEVER;
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const { message, path } of parsed.error.issues)
      context.issues.push({ code: 'custom', message, input: value, path: [...path] });
    return z.NEVER;
  });
}

/** A text that `parse` takes, which throws RoceError for others. */
function textFor(parse: (text: string) => unknown): z.ZodType<string> {
  return z.string().check((context) => {
    try {
      parse(context.value);
    } catch (error) {
      const message = error instanceof RoceError || error instanceof SyntaxError ? error.message : undefined;
      if (message === undefined) throw error;
      context.issues.push({ code: 'custom', message, input: context.value });
    }
  });
}

const nameSchema: z.ZodType<string> = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'Lower-case letters, digits, dots and hyphens are expected');
const wordsSchema: z.ZodType<string> = z.string().min(1);
const patternSchema: z.ZodType<string> = textFor((text) => new RegExp(text, 'g'));
const portSchema = z.int().min(1).max(65_535);
const amountSchema = z.int().min(0);

const COUNT = 'A whole number, or {"min": ..., "max": ...} with min <= max, is expected';
const countSchema: z.ZodType<Count> = z.union(
  [
    amountSchema,
    z
      .strictObject({ min: amountSchema.exactOptional(), max: amountSchema.exactOptional() })
      .refine(({ min, max }) => min !== undefined || max !== undefined, COUNT)
      .refine(({ min = 0, max = Infinity }) => min <= max, COUNT),
  ],
  COUNT,
);

const stationShape = {
  addresses: z.array(textFor(IpPrefix.parse)).min(1),
  mac: textFor(parseMac).exactOptional(),
  mtu: z.int().min(352).max(9216).exactOptional(),
};

const hostSchema: z.ZodType<HostSpec> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('guest'), kernel: z.enum(KERNELS), ...stationShape }),
  z.strictObject({
    kind: z.literal('stack'),
    trafficClass: z.int().min(0).max(255).exactOptional(),
    congestion: congestionSchema.exactOptional(),
    ...stationShape,
  }),
  z.strictObject({ kind: z.literal('namespace'), ...stationShape }),
]);

/** A rule, and checks beyond its shape: opcodes and fields that exist, what an action needs. */
const ruleSchema: z.ZodType<WireRule> = wireRuleSchema.check((context) => {
  try {
    compileRules([context.value]);
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    context.issues.push({ code: 'custom', message: error.message, input: context.value });
  }
});

const conductShape = {
  rules: z.array(ruleSchema).exactOptional(),
  faults: wireFaultsSchema.exactOptional(),
  notify: notifySchema.exactOptional(),
  seed: z.int().min(0).max(0xff_ff_ff_ff).exactOptional(),
};
const conductSchema: z.ZodType<WireConduct> = z.strictObject(conductShape);
const wireSchema: z.ZodType<WireSpec> = z.strictObject({
  name: nameSchema,
  between: z.tuple([nameSchema, nameSchema]),
  ...conductShape,
});

const readySchema: z.ZodType<Ready> = byKey<Ready>({
  listen: z.strictObject({ listen: portSchema }),
  prints: z.strictObject({ prints: patternSchema }),
});

const exitCodeSchema = z.int().min(0).max(255);
const excuseSchema: z.ZodType<Excuse> = z.strictObject({
  exit: exitCodeSchema,
  prints: patternSchema,
  why: wordsSchema,
});

const stepSchema: z.ZodType<CaseStep> = byKey<CaseStep>({
  command: z.strictObject({
    name: nameSchema.exactOptional(),
    host: nameSchema,
    command: wordsSchema,
    background: z.boolean().exactOptional(),
    ready: readySchema.exactOptional(),
    exit: z
      .union([exitCodeSchema, z.enum(['failure', 'any'])], 'An exit code, "failure" or "any" is expected')
      .exactOptional(),
    excuse: excuseSchema.exactOptional(),
    timeoutSeconds: z.int().min(1).max(3600).exactOptional(),
  }),
  wait: z.strictObject({ wait: nameSchema }),
  end: z.strictObject({ end: nameSchema }),
});

const statedShape = { why: wordsSchema.exactOptional(), mustFail: wordsSchema.exactOptional() };
const wireShape = { wire: nameSchema, at: nameSchema.exactOptional(), ...statedShape };

const expectationSchema: z.ZodType<CaseExpectation> = byKey<CaseExpectation>({
  filter: z.strictObject({ ...wireShape, filter: wordsSchema, count: countSchema }),
  sound: z.strictObject({ ...wireShape, sound: z.literal(true) }),
  icrc: z.strictObject({ ...wireShape, icrc: z.enum(['good', 'bad']), count: countSchema }),
  findings: z.strictObject({
    wire: nameSchema,
    findings: z.array(wordsSchema),
    tolerated: z.array(wordsSchema).exactOptional(),
    ...statedShape,
  }),
  event: z.strictObject({ wire: nameSchema, event: wordsSchema, count: countSchema, ...statedShape }),
  prints: z.strictObject({
    run: nameSchema,
    prints: patternSchema,
    count: countSchema.exactOptional(),
    ...statedShape,
  }),
  rate: z.strictObject({ host: nameSchema, rate: z.enum(RATE_STATISTICS), count: countSchema, ...statedShape }),
  counter: z.strictObject({ host: nameSchema, counter: wordsSchema, count: countSchema, ...statedShape }),
});

const caseSchema: z.ZodType<CaseSpec> = z.strictObject({
  name: nameSchema,
  about: wordsSchema.exactOptional(),
  wires: z.record(nameSchema, conductSchema).exactOptional(),
  run: z.array(stepSchema).min(1),
  expect: z.array(expectationSchema),
});

/** `parameters`, which are needed before the rest can be read. */
export const parametersSchema: z.ZodType<Record<string, ParameterValue>> = z.record(
  z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'A parameter is a word of letters and digits'),
  z.union([z.string(), z.number()], 'A text or a number is expected'),
);

export const experimentSchema: z.ZodType<Experiment> = z
  .strictObject({
    $schema: z.string().exactOptional(),
    name: nameSchema,
    title: wordsSchema,
    about: wordsSchema,
    parameters: parametersSchema.default({}),
    hosts: z.record(nameSchema, hostSchema),
    wires: z.array(wireSchema).min(1),
    cases: z.array(caseSchema).min(1),
  })
  .transform(({ $schema: _, ...experiment }): Experiment => experiment)
  .check((context) => {
    for (const { path, message } of checkNames(context.value))
      context.issues.push({ code: 'custom', message, input: context.value, path: [...path] });
  });
