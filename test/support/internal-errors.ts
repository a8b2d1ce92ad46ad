/**
 * Fails every test in which a device catches an error of its own: the boundary that keeps such errors from ending a
 * process (src/device/internal-errors.ts) must not hide bugs from tests. A set-up file of vitest: it holds for all
 * tests without a line in them, for devices of this thread. Tests that plant errors call `plantsInternalErrors`.
 */
import { afterEach, beforeEach } from 'vitest';
import { InternalErrors } from '../../src/device/internal-errors.ts';

interface Watch {
  caught: unknown[];
  planted: boolean;
}

/** Files of one process share the modules of `src/`, but not this one: what it knows is kept beside what it watches. */
const watch = watchOf(InternalErrors.prototype);

function watchOf(prototype: InternalErrors & { watch?: Watch }): Watch {
  if (prototype.watch !== undefined) return prototype.watch;
  const { caught } = prototype;
  const own: Watch = { caught: [], planted: false };
  return Object.assign(prototype, {
    watch: own,
    caught(this: InternalErrors, ...values: Parameters<typeof caught>): void {
      own.caught.push(values[1]);
      caught.apply(this, values);
    },
  }).watch;
}

/** For a `describe` or file whose tests plant errors and count them themselves. */
export function plantsInternalErrors(): void {
  beforeEach(() => {
    watch.planted = true;
  });
}

beforeEach(() => {
  watch.caught = [];
  watch.planted = false;
});

afterEach(() => {
  const [first] = watch.caught;
  if (first !== undefined && !watch.planted)
    throw new Error(`a device caught ${watch.caught.length} errors of its own`, { cause: first });
});
