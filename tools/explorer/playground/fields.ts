/**
 * Reads objects from outside field by field: each field is asked for by name and checked for its kind and its bounds;
 * unknown fields are refused. Owns the checks and their messages; the caller knows what the fields mean.
 */

/** What is wrong with a scenario, in one sentence that names the field. */
export class ScenarioError extends Error {
  override name = 'ScenarioError';
}

type Parse<T> = (value: unknown, path: string) => T;

/** The fields of one object, each asked for by name. */
export class CheckedFields {
  readonly names: readonly string[];
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #path: string;

  constructor(value: unknown, path: string, known: readonly string[]) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ScenarioError(`${path} is an object`);
    this.#path = path;
    this.#values = new Map(Object.entries(value).filter(([, item]) => item !== undefined));
    this.names = [...this.#values.keys()];
    const unknown = this.names.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new ScenarioError(`${path} has no field '${unknown.slice(0, 40)}'`);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  whole(name: string, low: number, high: number, absent?: number): number {
    if (absent !== undefined && !this.has(name)) return absent;
    return whole(this.get(name), this.#at(name), low, high);
  }

  number(name: string, low: number, high: number, absent: number): number {
    return this.has(name) ? inRange(this.get(name), this.#at(name), low, high) : absent;
  }

  chance(name: string): number {
    return this.number(name, 0, 1, 0);
  }

  oneOf<T extends string | number>(name: string, choices: readonly T[], absent?: T): T {
    if (absent !== undefined && !this.has(name)) return absent;
    return oneOf(this.get(name), this.#at(name), choices);
  }

  optional<K extends string, T>(name: K, parse: Parse<T>): { readonly [key in K]?: T } {
    // A computed key widens to string; the name is K all the same.
    return (this.has(name) ? { [name]: parse(this.get(name), this.#at(name)) } : {}) as { readonly [key in K]?: T };
  }

  list<T>(name: string, most: number, absent: readonly T[], parse: Parse<T>): readonly T[] {
    if (!this.has(name)) return absent;
    const value = this.get(name);
    const path = this.#at(name);
    if (!Array.isArray(value)) throw new ScenarioError(`${path} is a list`);
    if (value.length > most) throw new ScenarioError(`${path} has ${most} entries at most, not ${value.length}`);
    return value.map((item, index) => parse(item, `${path}[${index}]`));
  }

  #at(name: string): string {
    return this.#path === 'scenario' ? name : `${this.#path}.${name}`;
  }
}

/** `value`, if it is a whole number in this range. @throws ScenarioError */
export function whole(value: unknown, path: string, low: number, high: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value;
  throw new ScenarioError(`${path} is a whole number from ${low} to ${high}`);
}

function inRange(value: unknown, path: string, low: number, high: number): number {
  if (typeof value === 'number' && value >= low && value <= high) return value;
  throw new ScenarioError(`${path} is a number from ${low} to ${high}`);
}

/** `value`, if it is one of these. @throws ScenarioError */
export function oneOf<T extends string | number>(value: unknown, path: string, choices: readonly T[]): T {
  const choice = choices.find((item) => item === value);
  if (choice === undefined) throw new ScenarioError(`${path} is one of ${choices.join(', ')}`);
  return choice;
}

/** `value`, if it is a boolean. @throws ScenarioError */
export function flag(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new ScenarioError(`${path} is true or false`);
}
