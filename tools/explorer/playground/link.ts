/**
 * A session as a link, and back: scenario, interventions and position in the fragment of a URL, so that a lesson or a
 * bug can be sent. Owns the format; it is read from untrusted text, and a fault in it comes back as one sentence.
 *
 * `#view=playground&play=1.` and base64url of JSON: `{"s": scenario, "p": position}`, defaults left out. 1 is the
 * version of the format. Other fields of the fragment are the page's.
 */
import { ScenarioError } from './fields.ts';
import { compactScenario, parseScenario } from './parse-scenario.ts';
import { LIMITS, type PlaygroundScenario } from './scenario.ts';

/** What a link says. */
export interface LinkedSession {
  readonly scenario: PlaygroundScenario;
  /** Steps to be taken. */
  readonly position: number;
}

/** A link that was read, or why it could not be. */
export type DecodedLink =
  | { readonly ok: true; readonly session: LinkedSession }
  | { readonly ok: false; readonly error: string };

/** The fragment of a URL, `#` included. */
export function encodeLink({ scenario, position }: LinkedSession): string {
  const json = JSON.stringify({ s: compactScenario(scenario), ...(position === 0 ? {} : { p: position }) });
  const base64 = btoa(json).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  return `#view=playground&${FIELD}=${VERSION}.${base64}`;
}

/** Whether a fragment is meant to be one of ours. */
export function isLink(hash: string): boolean {
  return fieldOf(hash) !== undefined;
}

/** Reads a fragment, with or without `#`. Never throws. */
export function decodeLink(hash: string): DecodedLink {
  const text = fieldOf(hash);
  if (text === undefined) return refuse('this is no link to a session');
  if (text.length > LIMITS.linkChars)
    return refuse(`a link has ${LIMITS.linkChars} characters at most, not ${text.length}`);
  const [version = '', body = ''] = text.split('.', 2);
  if (version !== VERSION) return refuse(`this link has version '${version.slice(0, 20)}'; known is ${VERSION}`);
  const parsed = parseBody(body);
  if (parsed === undefined) return refuse('the link is damaged: it holds no JSON');
  try {
    return { ok: true, session: readSession(parsed.value) };
  } catch (error) {
    if (error instanceof ScenarioError) return refuse(error.message);
    throw error;
  }
}

function readSession(value: unknown): LinkedSession {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ScenarioError('the link is an object');
  const fields = new Map<string, unknown>(Object.entries(value));
  const position = fields.get('p') ?? 0;
  if (typeof position !== 'number' || !Number.isInteger(position) || position < 0 || position > LIMITS.steps)
    throw new ScenarioError(`the position is a whole number from 0 to ${LIMITS.steps}`);
  return { scenario: parseScenario(fields.get('s')), position };
}

function fieldOf(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, '')).get(FIELD) ?? undefined;
}

function parseBody(body: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/'))) };
  } catch {
    return undefined;
  }
}

function refuse(error: string): DecodedLink {
  return { ok: false, error };
}

const FIELD = 'play';
const VERSION = '1';
