/** Goal: docs/conformance-devices.md says what is kept. Method: the page is made anew; every device is on it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LIMITED_DEVICES } from '../../../../tools/conformance/duts/limited.ts';
import { LIMITED_PAGE, limitedPage, readLimited } from '../../../../tools/conformance/duts/limited-page.ts';

describe('docs/conformance-devices.md', () => {
  it('has every device that lacks something, and none on which a rule fails', () => {
    expect(readLimited().map(({ id }) => id)).toEqual(LIMITED_DEVICES.map(({ id }) => id));
    expect(readLimited().flatMap(({ wrong }) => wrong)).toEqual([]);
  });

  it('is made from the results that are kept', () => {
    expect(readFileSync(LIMITED_PAGE, 'utf8')).toBe(limitedPage(readLimited()));
  });
});
