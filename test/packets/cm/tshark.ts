/** Compares decoded values with what Wireshark printed for the same MAD. */
import { expect } from 'vitest';
import { CM_VECTORS, type CmVector } from '../../vectors/cm-mads.ts';

/** The vectors for which Wireshark printed this field. */
export function vectorsOf(field: string): readonly CmVector[] {
  return CM_VECTORS.filter((vector) => tsharkFields(vector).has(field));
}

/** Every expected field must have been printed, with the value given here. */
export function expectTshark(
  vector: CmVector,
  prefix: string,
  expected: Readonly<Record<string, number | bigint | string>>,
): void {
  const printed = tsharkFields(vector);
  for (const [name, value] of Object.entries(expected)) {
    const field = name === '' ? prefix : `${prefix}.${name}`;
    const text = printed.get(field);
    const where = `${field} of frame ${vector.frame} in ${vector.capture}`;
    if (text === undefined) throw new Error(`Wireshark did not print ${where}`);
    if (typeof value === 'string') expect(text, where).toBe(value);
    else expect(BigInt(text), where).toBe(BigInt(value));
  }
}

function tsharkFields(vector: CmVector): ReadonlyMap<string, string> {
  return new Map(
    vector.tshark.split(' ').map((pair) => {
      const [field = '', value = ''] = pair.split('=');
      return [field, value];
    }),
  );
}
