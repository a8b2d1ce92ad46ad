/**
 * Goal: whatever the analyzer finds has a page that explains it, and text, JSON and explorer name the same one. Method:
 * every symptom and rule there is, against the headings of the page.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULE_LIST, SYMPTOMS } from '../../../pcap/index.ts';
import { findingGuide, findingPage, withPages } from '../../../tools/analyze/finding-page.ts';

const ROOT = new URL('../../../', import.meta.url);
const IDS = [...SYMPTOMS.map(({ id }) => id), ...RULE_LIST.map(({ id }) => `rule/${id}`)];

/** As headings get their anchors: in lower case, with hyphens. */
const anchorsOf = (file: string): string[] =>
  [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(' ', '-'),
  );

it('of every symptom and every rule is a section that is there', () => {
  const anchors = anchorsOf('docs/symptoms.md');
  expect(IDS.length).toBeGreaterThan(40);
  expect(IDS.filter((id) => !anchors.includes(findingGuide(id).split('#')[1] ?? ''))).toEqual([]);
  expect(new Set(IDS.map((id) => findingGuide(id).split('#')[0]))).toEqual(new Set(['docs/symptoms.md']));
});

it('is the same on the site', () => {
  for (const id of IDS) expect(findingPage(id)).toBe(findingGuide(id).replace('.md#', '.html#'));
  expect(findingPage('no-reply')).toBe('docs/symptoms.html#no-reply');
  expect(findingPage('rule/read-length')).toBe('docs/symptoms.html#rules-of-the-protocol');
});

it('of what is neither is the page without a section', () => {
  expect([findingPage('other'), findingGuide('other')]).toEqual(['docs/symptoms.html', 'docs/symptoms.md']);
});

it('is added to each finding, which keeps all else', () => {
  const findings = [
    { id: 'no-reply', text: 'x' },
    { id: 'rule/read-length', text: 'y' },
  ];
  expect(withPages({ findings, events: 3 })).toEqual({
    findings: [
      { id: 'no-reply', text: 'x', page: 'docs/symptoms.html#no-reply' },
      { id: 'rule/read-length', text: 'y', page: 'docs/symptoms.html#rules-of-the-protocol' },
    ],
    events: 3,
  });
});
