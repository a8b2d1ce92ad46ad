/** Errors of ours, planted: a method throws until the end of the test. Its users call `plantsInternalErrors`. */
import { afterEach } from 'vitest';
import { InvariantError } from '../../packets/index.ts';

const uproot: (() => void)[] = [];

/** Takes all of them out; the end of each test does it as well. */
export const uprootAll = (): void => {
  for (const each of uproot.splice(0).reverse()) each();
};
afterEach(uprootAll);

/** From now on `method` throws for the first object that calls it; with `times`, so often. */
export function plant(prototype: object, method: string, times = Infinity): void {
  const original: unknown = Reflect.get(prototype, method);
  if (typeof original !== 'function') throw new Error(`there is no method ${method}`);
  let victim: unknown;
  let left = times;
  Object.defineProperty(prototype, method, {
    configurable: true,
    writable: true,
    value(this: unknown, ...values: unknown[]) {
      victim ??= this;
      if (this !== victim || left === 0) return Reflect.apply(original, this, values);
      left -= 1;
      throw new InvariantError(`a planted fault in ${method}`);
    },
  });
  uproot.push(() => Object.defineProperty(prototype, method, { configurable: true, writable: true, value: original }));
}
