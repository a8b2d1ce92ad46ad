/**
 * The kinds of values a scenario is made of: rates, times, sizes, shares, each with its range and the words for the
 * reference. Owns what a number has to be. The words are data of the schema (`meta`), so that `reference.ts` and
 * `roce sim fields` print what is checked.
 */
import { z } from 'zod';

/** A number above 0, in bits a second. */
export const rateBps = (about: string) =>
  z
    .number('A rate is expected')
    .gt(0, 'A rate above 0 is expected')
    .max(1e13)
    .meta({ description: about, unit: 'bit/s' });

/** A whole number of nanoseconds, 0 or more. */
export const timeNs = (about: string, min = 0) =>
  z
    .int('A whole number of nanoseconds is expected')
    .min(min, min === 0 ? 'A time of 0 or more is expected' : `A time of ${min} or more is expected`)
    .meta({ description: about, unit: 'ns' });

/** A whole number of bytes. */
export const sizeBytes = (about: string, min = 0) =>
  z
    .int('A whole number of bytes is expected')
    .min(min, `A size of ${min} or more is expected`)
    .meta({ description: about, unit: 'bytes' });

/** A whole number within bounds. */
export const count = (about: string, min: number, max = Number.MAX_SAFE_INTEGER) => {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
  const words = `A whole number, ${bounds}, is expected`;
  return z.int(words).min(min, words).max(max, words).meta({ description: about });
};

/** 0 to 1. */
export const share = (about: string) =>
  z
    .number('A number from 0 to 1 is expected')
    .min(0, 'A number from 0 to 1 is expected')
    .max(1, 'A number from 0 to 1 is expected')
    .meta({ description: about, unit: '0..1' });

/** A priority of Ethernet. */
export const priority = (about: string) => count(about, 0, 7);

/** Words for a reader. */
export const words = (about: string) => z.string().min(1, 'Some words are expected').meta({ description: about });

/** What names are made of. */
export const name = (about: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'Lower-case letters, digits, dots and hyphens are expected')
    .meta({ description: about });

/** Yes or no. */
export const flag = (about: string) => z.boolean().meta({ description: about });

/** One of a few words. */
export const choice = <const T extends readonly [string, ...string[]]>(about: string, of: T) =>
  z.enum(of, `One of ${of.join(', ')} is expected`).meta({ description: about });
