/**
 * Tests that need the lab: they run where it can, are skipped with one printed reason where it cannot, and fail where it must
 * (CI is set), so that a skip never passes for a success.
 */
import { describe, it } from 'vitest';
import { labAvailable } from '../../tools/lab/probe.ts';

/** `describe` for tests that boot guests. */
export function describeWithLab(name: string, body: () => void): void {
  const lab = labAvailable();
  if (lab.ok) {
    describe(name, body);
    return;
  }
  if ((process.env['CI'] ?? '') !== '') {
    it(`${name}: the lab is available, for CI is set`, () => {
      throw new Error(lab.reason);
    });
    return;
  }
  console.warn(`${name}: skipped, ${lab.reason}`);
  describe.skip(name, body);
}
