/**
 * Tests that need something which a machine may lack: they run where it is, are skipped with one printed reason where it is not, and
 * fail in CI, so that a skip never passes for a success.
 */
import { createRequire } from 'node:module';
import { describe, it } from 'vitest';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { scapyAvailable } from '../interop/scapy.ts';

/** Whether something is there; the reason why not is a sentence. */
export type Availability = { readonly ok: true } | { readonly ok: boolean; readonly reason: string };

/** `describe` where `ok` holds. */
export function describeWhere(availability: Availability, name: string, body: () => void): void {
  if (availability.ok || !('reason' in availability)) {
    describe(name, body);
    return;
  }
  const { reason } = availability;
  if ((process.env['CI'] ?? '') !== '') {
    it(`${name}: what this needs is there, for CI is set`, () => {
      throw new Error(reason);
    });
    return;
  }
  console.warn(`${name}: skipped, ${reason}`);
  describe.skip(name, body);
}

/** `describe` for tests that need optional packages. */
export function describeWithPackages(name: string, needs: readonly string[], body: () => void): void {
  describeWhere(packagesAvailable(needs), name, body);
}

/** `describe` for tests that read captures with tshark. */
export function describeWithTshark(name: string, body: () => void): void {
  const { available, reason } = tsharkAvailable();
  describeWhere({ ok: available, reason }, name, body);
}

/** `describe` for tests that read captures with scapy. */
export function describeWithScapy(name: string, body: () => void): void {
  describeWhere(scapyAvailable(), name, body);
}

export function packagesAvailable(needs: readonly string[]): Availability {
  const { resolve } = createRequire(import.meta.url);
  for (const need of needs) {
    try {
      resolve(need);
    } catch {
      return { ok: false, reason: `the optional package ${need} is not installed` };
    }
  }
  return { ok: true };
}
