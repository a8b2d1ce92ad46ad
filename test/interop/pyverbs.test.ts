/**
 * The page of rdma-core's own tests: written, read back, and what it says of rdma_rxe and us. Method: outcomes made up
 * here, and the page as it is committed. The tests themselves are run by pyverbs.long.test.ts.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { behind, formatPage, parsePage } from '../../tools/interop/pyverbs/page.ts';
import { type Outcome, parseOutcomes } from '../../tools/interop/pyverbs/results.ts';

const PAGES = ['uverbs-pyverbs.md', 'uverbs-pyverbs-13.md'];

const outcomes = (entries: Readonly<Record<string, Outcome>>) => new Map(Object.entries(entries));
const PASS: Outcome = { verdict: 'pass', why: '' };

it('reads what the runner prints, without what differs from run to run', () => {
  const line = (name: string, why: string) => JSON.stringify({ name, verdict: 'error', why, ms: 17 });
  const text = `${line('test_a.B.test_c', 'at 0x7f00dead,\n process 123456 | 22')}\n${line('test_a.B.test_d', '')}\n`;
  expect(parseOutcomes(text)).toEqual(
    outcomes({
      'test_a.B.test_c': { verdict: 'error', why: 'at 0x…, process … | 22' },
      'test_a.B.test_d': { verdict: 'error', why: '' },
    }),
  );
  expect(() => parseOutcomes('{"name": "test_a.B.test_c", "verdict": "fine", "why": ""}')).toThrow('run-tests.py');
  expect(() => parseOutcomes('Segmentation fault')).toThrow('run-tests.py');
});

it('what is written is read back, and a reason that both have is written once', () => {
  const page = {
    debian: '12' as const,
    version: '44.0-2',
    release: '6.12.1',
    ours: outcomes({
      'test_a.A.test_both': { verdict: 'skip', why: 'no such device' },
      'test_a.A.test_fine': PASS,
      'test_a.A.test_ours': { verdict: 'fail', why: 'ours: this' },
      'test_a.A.test_two': { verdict: 'timeout', why: 'too long' },
      'test_b.B.test_alone': PASS,
    }),
    rxe: outcomes({
      'test_a.A.test_both': { verdict: 'skip', why: 'no such device' },
      'test_a.A.test_fine': { verdict: 'error', why: 'a pipe / in it' },
      'test_a.A.test_ours': PASS,
      'test_a.A.test_two': { verdict: 'skip', why: 'not here' },
    }),
  };
  const text = formatPage(page);
  expect(parsePage(text)).toEqual(page);
  const other = { ...page, debian: '13' as const };
  expect(parsePage(formatPage(other))).toEqual(other);
  expect(text.match(/no such device/g)).toHaveLength(1);
  expect(text).toContain('| `test_a.A.test_two` | **timeout** | skip | ours: too long; rxe: not here |');
  expect(text).toContain('| all | 5 | 2 pass, 1 skip, 1 fail, 1 timeout | 1 pass, 2 skip, 1 error |');
  expect(behind(page)).toEqual(['test_a.A.test_ours']);
  expect(parsePage('# Another page')).toBeUndefined();
});

it('a test that was not run here is one that rdma_rxe passes alone', () => {
  expect(behind({ ours: new Map(), rxe: outcomes({ 'test_a.A.test_b': PASS }) })).toEqual(['test_a.A.test_b']);
});

it.each(PAGES)('no test that rdma_rxe passes fails here, as %s has it', (name) => {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  const page = parsePage(text);
  expect(page).toBeDefined();
  if (page === undefined) return;
  expect(formatPage(page)).toBe(text);
  expect(behind(page)).toEqual([]);
  // It is about something.
  expect([...page.rxe.values()].filter(({ verdict }) => verdict === 'pass').length).toBeGreaterThan(90);
  expect([...page.ours.keys()]).toEqual([...page.rxe.keys()]);
});
