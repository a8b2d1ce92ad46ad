/**
 * Goal: each attack of ref:hostile#2 has a defence or a reason, and a test that carries its id, and
 * docs/security-tests.md says which. Method: the titles of all tests, and small files that break each rule.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ATTACKS } from '../../../tools/security/attacks.ts';
import {
  contradictions,
  currentSecurityPage,
  readTaggedTests,
  SECURITY_PAGE,
  securityPage,
  taggedTests,
} from '../../../tools/security/page.ts';

const tests = readTaggedTests();
/** Put together here, so that the titles below are not found in this file. */
const TAG = 'SEC';

describe('the attacks', () => {
  it('are those of the reference page, all twenty, and each has a test', () => {
    const page = readFileSync('docs/reference/hostile.md', 'utf8');
    const ids = [...page.matchAll(/<a id="(SEC-\d+)"><\/a>/g)].map(([, id]) => id);
    expect(ATTACKS.map(({ id }) => id)).toEqual(ids);
    expect(ids).toHaveLength(20);
    expect(contradictions(ATTACKS, tests)).toEqual([]);
  });

  it('have a sentence each about what stands against them, or why nothing does', () => {
    for (const { attack, defence } of ATTACKS) expect([attack.length > 10, defence.length > 10]).toEqual([true, true]);
  });

  it('are complained about when the last test of one is gone', () => {
    const without = tests.filter(({ ids }) => !ids.includes('SEC-18'));
    expect(contradictions(ATTACKS, without)).toContain('SEC-18 has no test');
  });

  it('are complained about when a test has an id that is none', () => {
    const odd = taggedTests('test/odd.test.ts', `it('${TAG}-21 something else', () => {});`);
    expect(contradictions(ATTACKS, [...tests, ...odd])).toEqual([
      'test/odd.test.ts: SEC-21 is no attack: SEC-21 something else',
    ]);
  });
});

describe('titles of tests', () => {
  it.each([
    ['it', `it('${TAG}-01 a', () => {`, ['SEC-01']],
    ['describe with a title on its own line', `describe(\n  '${TAG}-01 a',\n  () => {`, ['SEC-01']],
    ['each', `it.each([1, 2])('b %i (${TAG}-02, ${TAG}-03)', () => {`, ['SEC-02', 'SEC-03']],
    ['a template', `it(\`${TAG}-04 \${x}\`, () => {`, ['SEC-04']],
    ['a quote in it', `it("it's ${TAG}-05", () => {`, ['SEC-05']],
    ['a comment', `// it('${TAG}-06', () => {`, []],
    ['a comment before', `/** it('${TAG}-06', () => { */`, []],
    ['another string', `const text = '${TAG}-07';`, []],
    ['an expectation', `expect(x).toBe('${TAG}-07');`, []],
  ])('are found: %s', (_, text, ids) => {
    expect(taggedTests('f', text).flatMap((test) => test.ids)).toEqual(ids);
  });
});

describe(SECURITY_PAGE, () => {
  it('is as `npm run docs:security` writes it', () => {
    expect(readFileSync(SECURITY_PAGE, 'utf8')).toBe(currentSecurityPage());
  });

  it('names the setting with its default, the file and the title', () => {
    const attack = { id: 'SEC-01', attack: 'a', defence: 'd', settings: ['defences.psnWindow'] } as const;
    const page = securityPage([attack], [{ file: 'test/x.test.ts', title: 'SEC-01 a | b', ids: ['SEC-01'] }]);
    expect(page).toContain('`defences.psnWindow` (65,536) | `x.test.ts`<br>› SEC-01 a \\| b |');
  });
});
