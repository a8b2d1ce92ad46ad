/**
 * docs/rxe-findings.md: findings and the registry's deviations of rdma_rxe, as far as they are published. Owns the
 * layout; the facts are data beside and in the rules.
 */
import { KERNELS } from '../../lab/recipe.ts';
import { findRule, RULES } from '../rules/index.ts';
import type { ConformanceRule, Deviation } from '../rules/types.ts';
import { isHazardous } from '../script/parse.ts';
import { FINDINGS, ladderOf } from './index.ts';
import type { RxeFinding } from './types.ts';
import { WITHHELD_FINDINGS } from './withheld.ts';

/** The whole page. */
export function findingsPage(): string {
  return [
    ...INTRODUCTION,
    '',
    '| finding | rule | severity | security | kernels |',
    '| --- | --- | --- | --- | --- |',
    ...FINDINGS.map((one) =>
      row([
        `[${one.title}](#${anchor(one)})`,
        one.rule,
        one.severity,
        one.security === undefined ? '' : 'yes',
        one.kernels.join(', ') || 'older',
      ]),
    ),
    '',
    ...FINDINGS.flatMap(section),
    ...others(),
  ].join('\n');
}

function section(one: RxeFinding): string[] {
  const rule = findRule(one.rule);
  const ladder = ladderOf(one);
  return [
    `## ${one.rule}: ${one.title}`,
    '',
    `**Severity:** ${one.severity}. **Kernels:** ${kernelsOf(one)}.${one.security === undefined ? '' : ` **Security:** ${one.security}.`}`,
    '',
    `**What happens.** ${one.happens}`,
    '',
    `**Expected.** ${rule?.says ?? ''} (${rule?.source ?? ''})`,
    '',
    ...(ladder === undefined ? [] : ['```', ...stepsOf(ladder), '```', '']),
    '```sh',
    commandOf(one),
    '```',
    '',
    ...(one.kernels.length === 0 ? ['(With the kernels that the lab has today it passes.)', ''] : []),
    ...(ladder === undefined
      ? []
      : [
          `Ladder: [${one.name}.ladder](rxe-findings/${one.name}.ladder), capture: [${one.name}.pcapng](rxe-findings/${one.name}.pcapng).${isHazardous(ladder) ? ' It crashes an older kernel that it is played against.' : ''}`,
          '',
        ]),
    `**Source.** ${one.source}`,
    '',
    `**For users.** ${one.users}`,
    '',
    ...(one.since === undefined ? [] : [`**Versions.** ${one.since}`, '']),
  ];
}

/**
 * One command that shows it, on a kernel that has it; what is fixed in all, on an older one that the archive still has.
 */
function commandOf({ name, rule, kernels, byRule, command }: RxeFinding): string {
  if (command !== undefined) return command;
  const kernel = kernels.find((label) => label === '6.12') ?? kernels[0] ?? '6.1';
  const what = byRule === true ? `--rules ${rule} --strict` : `--script docs/rxe-findings/${name}.ladder`;
  const older = kernels.length === 0 ? `ROCE_LAB_KERNEL_PACKAGE=${OLDER_KERNEL} ` : '';
  return `${older}npm run conformance -- --dut lab:${kernel} ${what}`;
}

const kernelsOf = ({ kernels }: RxeFinding): string =>
  kernels.length === 0
    ? 'older ones, none of the three'
    : kernels.length === KERNELS.length
      ? 'all three'
      : kernels.join(', ');

/** The steps of a ladder, without the comments that the page says itself. */
const stepsOf = (ladder: string): string[] => ladder.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

/** Every deviation that the registry knows of. */
function others(): string[] {
  const known = RULES.flatMap((rule) =>
    (rule.deviations ?? [])
      .filter(({ device, withheld }) => device === 'rxe' && withheld !== true)
      .map((deviation) => ({ rule, deviation })),
  );
  return [
    '## All deviations that are published',
    '',
    'What the registry has of rdma_rxe, those above included. `roce conformance --dut lab:6.12 --rules ID --strict` shows one; what is no `must` is an allowed',
    'variation. "Seen" means on the wire; the others were read in the source.',
    '',
    '| rule | level | kernels | what rdma_rxe does | evidence |',
    '| --- | --- | --- | --- | --- |',
    ...known.map(({ rule, deviation }) => deviationRow(rule, deviation)),
    '',
  ];
}

const deviationRow = ({ id, level }: ConformanceRule, { versions, does, evidence }: Deviation): string =>
  row([id, level, versions?.join(', ') ?? 'all', cell(does), cell(evidence)]);

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Text that a table bears: an underscore or a bar is not markup. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('_', '\\_');

/** As renderers of Markdown make it from the heading. */
const anchor = ({ rule, title }: RxeFinding): string =>
  `${rule}: ${title}`
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** Has the two panics that were known before. */
const OLDER_KERNEL = 'linux-image-6.1.0-47-amd64';

const INTRODUCTION = [
  '# What Linux rdma_rxe does otherwise',
  '',
  '<!-- Made by `npm run docs:conformance` from tools/conformance/findings/ and the registry: change those. -->',
  '',
  `> **withheld: ${WITHHELD_FINDINGS} findings.** They look like security problems and are not known to be reported: [SECURITY.md](../SECURITY.md) says when they are`,
  '> published. What is here is a plain deviation from the protocol, or fixed in public.',
  '>',
  '> Hazardous ladders crash what they are played against. `roce conformance --script` refuses them for devices that are not guests of the lab, unless',
  '> `--hazardous` allows it.',
  '',
  'Deviations of the software RoCE device of Linux from the rules of the [registry](conformance-registry.md), found by the [conformance tester](conformance.md)',
  'on the three kernels of the lab: `6.1` (Debian 12: 6.1.192), `6.12` (Debian 13: 6.12.117) and `sid` (7.2.13). Each is shown by one command, which boots',
  'the kernel in a guest, plays what is written and ends with exit code 1 (a test of ours: 0). A ladder says what the rule demands: our own stack passes it',
  '(`npm run conformance -- --script FILE`), the kernels that are named do not. Functions are below `drivers/infiniband/sw/rxe/`.',
  '',
  `Two panics were known before, and are fixed in the three kernels. They were played against ${OLDER_KERNEL} (6.1.170-3), the oldest kernel of`,
  'Debian 12 that its archive had: `ROCE_LAB_KERNEL_PACKAGE` puts a package in the place of the newest one. The oldest of Debian 13 there, 6.12.90-1, has both fixes.',
];
