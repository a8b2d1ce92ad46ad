/**
 * Tests that need the lab: they run where it can, are skipped with one printed reason where it cannot, and fail where it must
 * (CI is set), so that a skip never passes for a success.
 */
import { labAvailable } from '../../tools/lab/probe.ts';
import { describeWhere } from '../support/gate.ts';

/** `describe` for tests that boot guests. */
export function describeWithLab(name: string, body: () => void): void {
  describeWhere(labAvailable(), name, body);
}
