/**
 * Goal: the list of deliberate bugs fits the code it breaks. Method: each is planted, its rules looked up, the page
 * made anew.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../../../../tools/conformance/mutants/index.ts';
import { mutantsPage } from '../../../../tools/conformance/mutants/page.ts';
import { plant } from '../../../../tools/conformance/mutants/plant.ts';
import { parseModule, sameTree } from '../../../../tools/conformance/mutants/syntax.ts';
import { MUTANTS_FILE } from '../../../../tools/conformance/page/results.ts';
import { findRule } from '../../../../tools/conformance/rules/index.ts';

const textOf = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../../${file}`, import.meta.url)), 'utf8');

describe('the deliberate bugs', () => {
  it('are at least 120, each with a name of its own', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(120);
    expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  });

  it.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))(
    '%s changes one place; rules that exist catch it, or it says why not',
    (_, mutant) => {
      const text = textOf(mutant.file);
      expect(sameTree(parseModule(plant(mutant, text)), parseModule(text))).toBe(false);
      expect(mutant.caughtBy.map((id) => findRule(id)?.id)).toEqual(mutant.caughtBy);
      const open = mutant.escapes !== undefined;
      expect(mutant.caughtBy.length > 0).toBe(!open);
    },
  );

  it('stand on their page', () => {
    expect(readFileSync(MUTANTS_FILE, 'utf8')).toBe(mutantsPage());
  });
});
