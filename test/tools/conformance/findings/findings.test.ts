/**
 * Goal: the findings are true as far as no kernel is needed for it: their ladders say what the rules demand, so that
 * our own stack passes them, and docs/rxe-findings.md names what is published, and only that. Method: data, ladders,
 * captures, registry and page are laid side by side; ladders are played in process. Findings that are not published
 * take part where the checkout has them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import {
  directoryOf,
  EMBARGOED,
  FINDINGS,
  FINDINGS_DIRECTORY,
  FINDINGS_PAGE,
  ladderOf,
} from '../../../../tools/conformance/findings/index.ts';
import { findingsPage } from '../../../../tools/conformance/findings/page.ts';
import { findRule } from '../../../../tools/conformance/rules/index.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { isHazardous, parseScript } from '../../../../tools/conformance/script/parse.ts';
import { scriptCase } from '../../../../tools/conformance/script/play.ts';

const ALL = [...FINDINGS, ...EMBARGOED];
const withLadder = ALL.flatMap((one) => {
  const text = ladderOf(one);
  return text === undefined ? [] : [{ ...one, text }];
});

describe('the findings about rdma_rxe', () => {
  it('are at least twelve with a ladder, each with a name of its own', () => {
    expect(withLadder.length).toBeGreaterThanOrEqual(12);
    expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
  });

  it.each(ALL.map((one) => [one.name, one] as const))('%s names a rule that the registry has', (name, one) => {
    expect(findRule(one.rule)?.id).toBe(one.rule);
    expect(name.startsWith(`${one.rule}-`)).toBe(true);
  });

  it('that the lab has are deviations of the registry, of those kernels', () => {
    const unknown = ALL.flatMap(({ name, rule, kernels }) =>
      kernels
        .filter((kernel) => {
          const known = findRule(rule)?.deviations ?? [];
          return !known.some((one) => one.device === 'rxe' && (one.versions?.includes(kernel) ?? true));
        })
        .map((kernel) => `${name} on ${kernel}`),
    );
    expect(unknown).toEqual([]);
  });

  it('have a ladder and a capture for each that says so, and no other files lie there', () => {
    for (const directory of new Set([FINDINGS_DIRECTORY, ...withLadder.map(directoryOf)])) {
      const here = withLadder.filter((one) => directoryOf(one) === directory);
      const expected = here.flatMap(({ name }) => [`${name}.ladder`, `${name}.pcapng`]);
      expect(readdirSync(directory).sort()).toEqual(expected.sort());
    }
  });

  it('have captures that say what they are: their first comment is the ladder', () => {
    for (const one of withLadder) {
      const { name } = one;
      const bytes = readFileSync(join(directoryOf(one), `${name}.pcapng`));
      expect(bytes.readUInt32BE(0)).toBe(0x0a_0d_0d_0a);
      expect(bytes.includes(`${name}.ladder`)).toBe(true);
      expect(bytes.length).toBeLessThan(10_000);
    }
  });
});

describe('the ladders of the findings', () => {
  it.each(withLadder.map((one) => [one.name, one] as const))(
    '%s passes on our own stack',
    async (name, { rule, text }) => {
      const dut = new InProcessDut({ seed: 7 });
      const run = await runCase(dut, scriptCase(name, parseScript(text), { hazardous: isHazardous(text) }), {
        seed: 7,
      });
      await dut.close();
      expect(`${run.verdict} ${run.reason}`.trim()).toBe('pass');
      expect(text.startsWith(`# ${rule}: `)).toBe(true);
    },
  );

  it.each(withLadder.map((one) => [one.name, one] as const))(
    '%s names the kernels that the data has',
    (_, { kernels, text }) => {
      const said = /^# Kernels: (.*)$/m.exec(text)?.[1] ?? '';
      expect(said.startsWith('none') ? [] : said.split(', ')).toEqual([...kernels]);
    },
  );

  it('are marked hazardous where they crash something', () => {
    for (const { name, text } of withLadder.filter(({ severity }) => severity === 'crash'))
      expect(`${name} ${isHazardous(text)}`).toBe(`${name} true`);
  });
});

describe('docs/rxe-findings.md', () => {
  const page = readFileSync(FINDINGS_PAGE, 'utf8');

  it('is made from the data', () => expect(page).toBe(findingsPage()));

  it('names every ladder, and a command for each finding', () => {
    for (const { name, report } of withLadder)
      expect(page.includes(`--script docs/rxe-findings/${name}.ladder`), name).toBe(report === undefined);
    expect(page.match(/^(?:ROCE_LAB_KERNEL_PACKAGE=\S+ )?npm run conformance -- --dut lab:/gm)?.length).toBe(
      FINDINGS.length,
    );
  });

  it('links to sections that it has', () => {
    const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, text = '']) =>
      text
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, target = ''] of page.matchAll(/\]\(#([^)]*)\)/g)) expect(headings).toContain(target);
  });
});
