/**
 * Goal: the registry holds every rule once, with all that a verdict and a report need; the catalogue has the basis of
 * each. Method: count it against a table made by hand, look at every text and at the page, and ask for rules by id and
 * by glob.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findRule, matchRules, RULES } from '../../../../tools/conformance/rules/index.ts';
import { AREAS, type Area, type ConformanceRule } from '../../../../tools/conformance/rules/types.ts';

/** What was counted when the sources had been read: rules, R, C, U, priority 1, 2, 3. */
const COUNTS: Readonly<Record<Area, readonly number[]>> = {
  PKT: [22, 6, 13, 3, 6, 12, 4],
  'RSP-PSN': [20, 5, 15, 0, 5, 15, 0],
  OPS: [18, 4, 13, 1, 0, 12, 6],
  LEN: [19, 6, 12, 1, 3, 10, 6],
  KEY: [20, 5, 15, 0, 3, 6, 11],
  RD: [18, 8, 10, 0, 7, 9, 2],
  ATM: [14, 5, 8, 1, 5, 7, 2],
  ACK: [21, 8, 12, 1, 6, 9, 6],
  RNR: [18, 2, 16, 0, 1, 8, 9],
  REQ: [38, 17, 20, 1, 0, 17, 21],
  UC: [12, 0, 12, 0, 0, 4, 8],
  UD: [14, 2, 12, 0, 0, 8, 6],
  MC: [6, 1, 5, 0, 0, 2, 4],
  PKQ: [6, 1, 3, 2, 1, 3, 2],
  CM: [27, 2, 21, 4, 2, 20, 5],
  ANX: [49, 49, 0, 0, 33, 16, 0],
  CNP: [11, 7, 2, 2, 4, 5, 2],
  MPE: [16, 0, 14, 2, 0, 11, 5],
  QPS: [21, 1, 19, 1, 0, 1, 20],
};

const LONGEST_TEXT = 240;

function countsOf(rules: readonly ConformanceRule[]): number[] {
  const counts = { rules: 0, R: 0, C: 0, U: 0, 1: 0, 2: 0, 3: 0 };
  for (const { certainty, priority } of rules) {
    counts.rules++;
    counts[certainty]++;
    counts[priority]++;
  }
  return [counts.rules, counts.R, counts.C, counts.U, counts[1], counts[2], counts[3]];
}

/** A sentence or two, short enough for a line of a report; a text in one line, without the marks of a table. */
function isSentence(text: string): boolean {
  return /^[A-Z0-9][^\n\r|]*\.$/.test(text) && text.length <= LONGEST_TEXT;
}

describe('the registry of rules', () => {
  it('has as many rules as were counted, by area, certainty and priority', () => {
    const counts = Object.fromEntries(
      AREAS.map((area) => [area, countsOf(RULES.filter((rule) => rule.area === area))]),
    );
    expect(counts).toEqual(COUNTS);
    expect(countsOf(RULES)).toEqual([370, 129, 222, 19, 76, 175, 119]);
  });

  it('numbers the rules of each area from 01, without gaps and in order', () => {
    const ids = AREAS.flatMap((area) =>
      Array.from({ length: COUNTS[area][0] ?? 0 }, (_, index) => `${area}-${String(index + 1).padStart(2, '0')}`),
    );
    expect(RULES.map((rule) => rule.id)).toEqual(ids);
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

  it('has the levels that its page counts', () => {
    const page = readFileSync(new URL('../../../../docs/conformance-registry.md', import.meta.url), 'utf8');
    const count = (level: ConformanceRule['level']): number => RULES.filter((rule) => rule.level === level).length;
    expect(page).toContain(`${count('must')} rules are a must, ${count('should')} should, ${count('may')} may.`);
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
    expect(idsOf('pkt-*')).toHaveLength(22);
    expect(idsOf('*')).toHaveLength(370);
    expect(idsOf('RD-01')).toEqual(['RD-01']);
  });

  it('gives each rule once, in the order of the registry', () => {
    expect(idsOf('MC-02, MC-0?')).toEqual(['MC-01', 'MC-02', 'MC-03', 'MC-04', 'MC-05', 'MC-06']);
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
