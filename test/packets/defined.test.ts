/** Goal: options that were not given stay absent. Method: examples. */
import { expect, it } from 'vitest';
import { defined } from '../../packets/defined.ts';

it('leaves out what is undefined, and nothing else', () => {
  const found = defined({ a: 1, b: undefined, c: 0, d: '', e: false, f: null });
  expect(Object.keys(found)).toEqual(['a', 'c', 'd', 'e', 'f']);
});

it('hides no default', () => {
  const given: { readonly mtu: number | undefined } = { mtu: undefined };
  expect({ mtu: 1500, ...defined(given) }).toEqual({ mtu: 1500 });
});
