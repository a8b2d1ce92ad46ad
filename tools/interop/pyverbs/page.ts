/**
 * docs/uverbs-pyverbs.md: what came of each test of pyverbs, here and on rdma_rxe; how the page is written and read
 * back. Owns its layout. The page is where results are kept: a run replaces the column that it has run.
 */

import { type Outcome, type Outcomes, VERDICTS, type Verdict } from './results.ts';
import { DEBIANS, type Debian } from './suite.ts';

export interface PyverbsPage {
  readonly debian: Debian;
  /** Of Debian's package python3-pyverbs. */
  readonly version: string;
  readonly ours: Outcomes;
  /** The kernel's release, and what came of the tests on it. */
  readonly release: string;
  readonly rxe: Outcomes;
}

/** Tests that rdma_rxe passes and this stack does not. */
export function behind({ ours, rxe }: Pick<PyverbsPage, 'ours' | 'rxe'>): string[] {
  return [...rxe].filter(([name, { verdict }]) => verdict === 'pass' && ours.get(name)?.verdict !== 'pass').map(nameOf);
}

/** The text of the page. */
export function formatPage(page: PyverbsPage): string {
  const names = [...new Set([...page.ours.keys(), ...page.rxe.keys()])].sort();
  const modules = [...new Set(names.map(moduleOf))];
  return [
    ...introduction(page.debian),
    '',
    '## Versions',
    '',
    '| what | version |',
    '| --- | --- |',
    `| ${SUITE} | ${page.version} |`,
    `| ${LINUX} | ${page.release} |`,
    '',
    '## In short',
    '',
    '| module | tests | ours | rxe 6.12 |',
    '| --- | --- | --- | --- |',
    ...modules.map((module) =>
      summaryLine(
        `\`${module}\``,
        names.filter((name) => moduleOf(name) === module),
        page,
      ),
    ),
    summaryLine('all', names, page),
    '',
    '## Test by test',
    '',
    '| test | ours | rxe 6.12 | remark |',
    '| --- | --- | --- | --- |',
    ...names.map((name) => testLine(name, page)),
    '',
  ].join('\n');
}

/** Reads what `formatPage` has written; undefined for any other text. */
export function parsePage(text: string): PyverbsPage | undefined {
  const debian = DEBIANS.find((one) => text.startsWith(`${titleOf(one)}\n`));
  if (debian === undefined) return undefined;
  const versions = new Map<string, string>();
  const ours = new Map<string, Outcome>();
  const rxe = new Map<string, Outcome>();
  for (const line of text.split('\n')) {
    const [first = '', second = '', third = '', remark = ''] = fieldsOf(line);
    if (first === SUITE || first === LINUX) versions.set(first, second);
    const name = /^`(test_\w+\.\w+\.\w+)`$/.exec(first)?.[1];
    if (name === undefined) continue;
    const both = { ours: verdictOf(second), rxe: verdictOf(third) };
    if (both.ours !== undefined) ours.set(name, { verdict: both.ours, why: whyOf('ours', remark, both.ours) });
    if (both.rxe !== undefined) rxe.set(name, { verdict: both.rxe, why: whyOf('rxe', remark, both.rxe) });
  }
  return { debian, version: versions.get(SUITE) ?? '', release: versions.get(LINUX) ?? '', ours, rxe };
}

function summaryLine(label: string, names: readonly string[], { ours, rxe }: PyverbsPage): string {
  const counts = (outcomes: Outcomes): string => {
    const found = names.map((name) => outcomes.get(name)?.verdict);
    const some = VERDICTS.map((verdict) => [verdict, found.filter((one) => one === verdict).length] as const);
    return some.flatMap(([verdict, count]) => (count === 0 ? [] : [`${count} ${verdict}`])).join(', ');
  };
  return `| ${label} | ${names.length} | ${counts(ours)} | ${counts(rxe)} |`;
}

function testLine(name: string, { ours, rxe }: PyverbsPage): string {
  const [one, other] = [ours.get(name), rxe.get(name)];
  return `| \`${name}\` | ${marked(one)} | ${marked(other)} | ${remarkOf(one?.why ?? '', other?.why ?? '')} |`;
}

function marked(outcome: Outcome | undefined): string {
  if (outcome === undefined) return '';
  const { verdict } = outcome;
  return verdict === 'pass' || verdict === 'skip' ? verdict : `**${verdict}**`;
}

/** One reason stands for both where both have it. */
function remarkOf(ours: string, rxe: string): string {
  const [one, other] = [inCell(ours), inCell(rxe)];
  if (one === '' || other === '' || one === other) return one === '' ? other : one;
  return `${OURS}${one}${RXE}${other}`;
}

function whyOf(which: 'ours' | 'rxe', remark: string, verdict: Verdict): string {
  if (verdict === 'pass') return '';
  const at = remark.indexOf(RXE);
  if (!remark.startsWith(OURS) || at < 0) return remark;
  return which === 'ours' ? remark.slice(OURS.length, at) : remark.slice(at + RXE.length);
}

/** A reason cannot end a cell, nor be taken for the mark between two. */
function inCell(why: string): string {
  return why.replaceAll('|', '/').replaceAll(RXE, ', ').trim();
}

function verdictOf(field: string): Verdict | undefined {
  return VERDICTS.find((verdict) => verdict === field.replaceAll('*', ''));
}

function fieldsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((field) => field.trim());
}

function moduleOf(name: string): string {
  return name.split('.', 1)[0] ?? name;
}

const nameOf = ([name]: readonly [string, Outcome]): string => name;

const SUITE = 'python3-pyverbs (Debian)';
const LINUX = 'Linux 6.12';
const OURS = 'ours: ';
const RXE = '; rxe: ';

function titleOf(debian: Debian): string {
  return `# rdma-core's own tests, of Debian ${debian}`;
}

function introduction(debian: Debian): string[] {
  return [
    titleOf(debian),
    '',
    ...(debian === '12' ? WRITTEN_12 : WRITTEN_13),
    '',
    'Each test has a process of its own and 60 seconds. One thing is told to the tests that they would look for in sysfs, where a device of rdma_rxe has',
    'nothing to say: which network interface is its own. Without it the tests of rdma_cm would all be skipped, there as well as here.',
    '',
    '- **pass**: the test passed.',
    '- **skip**: the test says itself that the device or the machine lacks what it is about; the remark is its reason.',
    '- **fail**, **error**, **timeout**: as the test framework has them. The remark begins with whose it is where both have something to say.',
  ];
}

const WRITTEN_12 = [
  'Written by `npm run pyverbs`, which runs the tests of pyverbs, the part of rdma-core that is for Python, as `roce run` runs any program: without',
  "any change to them, to libibverbs, its provider for rxe or librdmacm. `npm run pyverbs -- --rxe` runs them in a Linux guest too, on the kernel's",
  'rdma_rxe, with the same packages; that column is what the last such run has left, and no test of ours boots the guest.',
  '`npm run test:long` runs the other column and fails where this page is not true any more, or where a test fails here that rdma_rxe passes.',
  '[uverbs-pyverbs-13.md](uverbs-pyverbs-13.md) has those of Debian 13, which are newer: FLUSH, ATOMIC WRITE, shared receive queues.',
];
const WRITTEN_13 = [
  'Written by `npm run pyverbs -- --debian 13 --rxe`, as root: [uverbs-pyverbs.md](uverbs-pyverbs.md) says what is run and how. Here all packages are of',
  'Debian 13, on both sides, and those of our side have a root of their own, for this machine may be another. No test of ours runs it: both columns',
  'are what the last run has left.',
];
