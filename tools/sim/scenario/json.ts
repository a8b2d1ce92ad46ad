/**
 * JSON values and three things done to them: a partial override (JSON Merge Patch, RFC 7396), a value set at a path, a
 * path read and written. Owns how paths are typed: `traffic[0].bytes`, `traffic.0.bytes`. Changes nothing it is given.
 */
import { RoceError } from 'rocev2/packets';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
export type JsonPath = readonly (string | number)[];

/** Objects are merged, null takes a field away, everything else takes the place of what was there. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const fields = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) fields.delete(key);
    else fields.set(key, mergePatch(fields.get(key), value));
  }
  // Own properties, whatever their names: `__proto__` is a field like others.
  return Object.fromEntries(fields);
}

/**
 * The same value with another one at `path`; objects on the way are made. Null takes a field away, but for what is
 * below `compare`, where it says that a variant takes it away. @throws RoceError ERR_ROCE_ARGUMENT where the path leads
 * nowhere
 */
export function withValueAt(target: Json | undefined, path: JsonPath, value: Json): Json {
  return place(target, path, value, 0);
}

function place(target: Json | undefined, path: JsonPath, value: Json, depth: number): Json {
  const key = path[depth];
  if (key === undefined) return value;
  if (isArray(target)) {
    const index = typeof key === 'number' ? key : Number.NaN;
    if (!(index < target.length)) throw nowhere(path, depth, `a list of ${target.length}`);
    return target.map((item, at) => (at === index ? place(item, path, value, depth + 1) : item));
  }
  if (target !== undefined && !isObject(target)) throw nowhere(path, depth, JSON.stringify(target));
  const fields = new Map(Object.entries(target ?? {}));
  if (value === null && depth === path.length - 1 && path[0] !== 'compare') fields.delete(String(key));
  else fields.set(String(key), place(fields.get(String(key)), path, value, depth + 1));
  return Object.fromEntries(fields);
}

function nowhere(path: JsonPath, depth: number, what: string): RoceError {
  return new RoceError('ERR_ROCE_ARGUMENT', `${pathText(path)}: ${pathText(path.slice(0, depth))} is ${what}`);
}

/** What is at a path. */
export function valueAt(value: Json | undefined, path: readonly PropertyKey[]): Json | undefined {
  let at: Json | undefined = value;
  for (const key of path) {
    if (isArray(at)) at = at[Number(key)];
    else if (isObject(at) && Object.hasOwn(at, key)) at = at[String(key)];
    else return undefined;
  }
  return at;
}

/** `traffic[0].bytes` as its parts. @throws RoceError ERR_ROCE_ARGUMENT */
export function parsePath(text: string): JsonPath {
  if (!/^[\w$-]+(?:\.[\w$-]+|\[\d+\])*$/.test(text))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(text)} is no path such as traffic[0].bytes`);
  return text
    .replaceAll('[', '.')
    .replaceAll(']', '')
    .split('.')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Parts as `parsePath` reads them. */
export function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text.replace(/^\./, '');
}

/** A value as typed on a command line: JSON where it is JSON, a text otherwise. */
export function parseValue(text: string): Json {
  try {
    // What JSON.parse gives is a Json; its type says less.
    return JSON.parse(text) as Json;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return text;
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value);
}

/** `Array.isArray` does not narrow a readonly array. */
function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
