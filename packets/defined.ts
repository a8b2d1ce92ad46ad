/** Objects without the properties that are undefined: what options are passed on with. Owns that one function. */

/** The same properties, each absent or with a value. */
export type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/**
 * A copy of `values` without the properties whose value is undefined, so that an option that was not given stays absent
 * and hides no default. Not for the data path: it allocates.
 */
export function defined<T extends object>(values: T): Defined<T> {
  const result: Defined<T> = {};
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) result[key] = value as Exclude<T[typeof key], undefined>;
  }
  return result;
}
