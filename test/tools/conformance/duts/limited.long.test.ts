/**
 * Goal: a device is not blamed for what it does not have. Method: the suite runs against our stack with features taken
 * away one at a time; no rule fails that holds on the whole stack, and what does not apply says why.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { LIMITED_DEVICES } from '../../../../tools/conformance/duts/limited.ts';
import { readLimited } from '../../../../tools/conformance/duts/limited-page.ts';
import { type CaseUse, runLimited, usesOf } from '../../../../tools/conformance/duts/limited-run.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';

describe('a device without everything', () => {
  let uses: ReadonlyMap<Case, CaseUse>;

  beforeAll(async () => {
    uses = await usesOf();
  });

  it.each(LIMITED_DEVICES.map((device) => [device.id, device] as const))('%s fails no rule', async (id, device) => {
    const result = await runLimited(device, uses);
    expect(result.wrong).toEqual([]);
    expect(result).toEqual(readLimited().find((kept) => kept.id === id));
  });
});
