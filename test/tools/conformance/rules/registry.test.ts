/**
 * Goal: the registry holds every rule once, with all that a verdict and a report need; the catalogue has the basis of
 * each. Method: look at every id and text and at the page, and ask for rules by id and by glob.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findRule, matchRules, RULES } from '../../../../tools/conformance/rules/index.ts';
import { AREAS, type Area } from '../../../../tools/conformance/rules/types.ts';

const LONGEST_TEXT = 240;

/** A sentence or two, short enough for a line of a report; a text in one line, without the marks of a table. */
function isSentence(text: string): boolean {
  return /^[A-Z0-9][^\n\r|]*\.$/.test(text) && text.length <= LONGEST_TEXT;
}

describe('the registry of rules', () => {
  it('has rules of every area, and none of another', () => {
    expect([...new Set(RULES.map(({ area }) => area))]).toEqual([...AREAS]);
    for (const { id, area } of RULES) expect(id, area).toMatch(new RegExp(`^${area}-\\d\\d$`));
  });

  it('numbers the rules of each area from 01, without gaps and in order', () => {
    for (const area of AREAS) {
      const ids = RULES.filter((rule) => rule.area === area).map(({ id }) => id);
      expect(ids).toEqual(ids.map((_, index) => `${area}-${String(index + 1).padStart(2, '0')}`));
    }
  });

  it('gives the priority that certainty and need have: sure and on the wire first', () => {
    for (const { id, certainty, needs, priority } of RULES) {
      const expected = certainty === 'R' ? (needs === 'wire' ? 1 : 2) : certainty === 'C' && needs === 'wire' ? 2 : 3;
      expect(priority, id).toBe(expected);
    }
  });

  it('never demands what nobody has read or cited', () => {
    const unsure = RULES.filter((rule) => rule.certainty === 'U');
    expect(unsure.filter((rule) => rule.level === 'must').map((rule) => rule.id)).toEqual([]);
  });

  it('says and shows each rule in a sentence of its own, with a source', () => {
    for (const rule of RULES) {
      expect(isSentence(rule.says), `${rule.id} says: ${rule.says}`).toBe(true);
      expect(isSentence(rule.shownBy), `${rule.id} is shown by: ${rule.shownBy}`).toBe(true);
      expect(rule.source, rule.id).toMatch(/[A-Za-z]/);
    }
    const texts = RULES.map((rule) => rule.says);
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
  });

  it('has the basis of each rule in the section of its family, where a citation finds it', () => {
    const page = readFileSync(new URL('../../../../docs/reference/conformance.md', import.meta.url), 'utf8');
    const anchors = [...page.matchAll(/<a id="([^"]+)"><\/a>/g)].map((match) => match[1]);
    const families = anchors.slice(anchors.indexOf('3') + 1, anchors.indexOf('A'));
    const ofFamily = (area: Area): unknown[] => {
      const from = families.indexOf(area) + 1;
      const next = AREAS[AREAS.indexOf(area) + 1];
      return families.slice(from, next === undefined ? undefined : families.indexOf(next)).sort();
    };
    for (const area of AREAS) {
      expect(ofFamily(area), area).toEqual(RULES.filter((rule) => rule.area === area).map((rule) => rule.id));
    }
  });

  it('gives evidence for each deviation and names kernels as the lab does', () => {
    for (const rule of RULES) {
      for (const deviation of rule.deviations ?? []) {
        expect(['rxe', 'rocev2'], rule.id).toContain(deviation.device);
        expect(isSentence(deviation.does), `${rule.id} does: ${deviation.does}`).toBe(true);
        expect(deviation.evidence, rule.id).toMatch(/\.c\b|\bsource\b|ref:/);
        for (const version of deviation.versions ?? []) expect(['6.1', '6.12', 'sid'], rule.id).toContain(version);
        expect(deviation.versions, rule.id).not.toEqual([]);
      }
    }
  });
});

describe('finding rules', () => {
  const idsOf = (globs: string): string[] => matchRules(globs).map((rule) => rule.id);

  it('finds a rule by its id, and nothing by another', () => {
    expect(findRule('RSP-PSN-04')?.area).toBe('RSP-PSN');
    expect(findRule('RSP-PSN-99')).toBeUndefined();
    expect(findRule('__proto__')).toBeUndefined();
  });

  it('matches globs with stars and question marks, in either case', () => {
    expect(idsOf('RD-0?')).toEqual(['RD-01', 'RD-02', 'RD-03', 'RD-04', 'RD-05', 'RD-06', 'RD-07', 'RD-08', 'RD-09']);
    expect(idsOf('pkt-*')).toEqual(RULES.filter(({ area }) => area === 'PKT').map(({ id }) => id));
    expect(idsOf('*')).toEqual(RULES.map(({ id }) => id));
    expect(idsOf('RD-01')).toEqual(['RD-01']);
  });

  it('gives each rule once, in the order of the registry', () => {
    const all = RULES.map(({ id }) => id).filter((id) => id.startsWith('MC-0'));
    expect(idsOf('MC-02, MC-0?')).toEqual(all);
    expect(idsOf('RD-02,PKT-01,RD-02')).toEqual(['PKT-01', 'RD-02']);
  });

  it('refuses a glob that names no rule and tells the nearest ids', () => {
    expect(() => matchRules('PTK-01')).toThrow(
      expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT', message: expect.stringContaining('PKT-01') }),
    );
    expect(() => matchRules('PKT-01,frobnicate')).toThrow(/'FROBNICATE' names no rule; the areas are PKT, RSP-PSN,/);
    expect(() => matchRules('')).toThrow(/an empty part of the list names no rule/);
    expect(() => matchRules('PKT-01,')).toThrow(/an empty part/);
  });

  it('takes every other character of a glob literally', () => {
    for (const glob of ['PKT-0[1-9]', 'PKT-0.', '(PKT', 'PKT-01|PKT-02', '\\d+', '^*$', 'PKT-01\n', '€*']) {
      if (glob === 'PKT-01\n') expect(idsOf(glob)).toEqual(['PKT-01']);
      else expect(() => matchRules(glob), glob).toThrow(/names no rule/);
    }
  });
});
