/**
 * docs/conformance-report.md: a row for each rule, a column for each device, a verdict in each cell. Owns the layout.
 * The page contains no times and no numbers that differ from run to run: it changes only when a verdict or a version
 * changes.
 */
import { invariant } from 'rocev2/packets';
import { AREAS, type ConformanceRule } from '../rules/types.ts';
import type { ResultFile, ResultRow } from '../runner/files.ts';
import { countVerdicts, verdictName } from '../runner/report.ts';
import { AREA_TITLES } from './titles.ts';

/** The whole page. @param results one for each device, in the order of the columns */
export function conformancePage(rules: readonly ConformanceRule[], results: readonly ResultFile[]): string {
  const areas = AREAS.map((area) => ({ area, of: rules.filter((rule) => rule.area === area) }));
  return [
    ...INTRODUCTION,
    '',
    '## Devices',
    '',
    ...devicesTable(results),
    '',
    ...areas.flatMap(({ area, of }) => areaSection(`${area}: ${AREA_TITLES[area]}`, of, results)),
    '## Why',
    '',
    'What is not a plain pass, device by device.',
    '',
    ...results.flatMap((result) => reasons(rules, result)),
  ].join('\n');
}

/**
 * How many rules have which verdict, a line for each device. Columns are aligned: docs/conformance.md has the table
 * too, and is formatted.
 */
export function devicesTable(results: readonly ResultFile[]): string[] {
  const lines = [DEVICES_HEAD, ...results.map(deviceCells)];
  const widths = DEVICES_HEAD.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const aligned = lines.map((cells) => row(cells.map((text, column) => text.padEnd(widths[column] ?? 0))));
  return aligned.toSpliced(1, 0, row(widths.map((width) => '-'.repeat(width))));
}

/** A page with the table of devices between its two marks replaced. */
export function withDevicesTable(page: string, results: readonly ResultFile[]): string {
  const start = page.indexOf(DEVICES_START);
  const end = page.indexOf(DEVICES_END);
  invariant(start >= 0 && end > start, 'the page has the two marks of the table of devices');
  const head = page.slice(0, start + DEVICES_START.length);
  return `${head}\n\n${devicesTable(results).join('\n')}\n\n${page.slice(end)}`;
}

const DEVICES_START = '<!-- devices: written by npm run docs:conformance -->';
const DEVICES_END = '<!-- end of devices -->';

const DEVICES_HEAD = [
  ...['device', 'what it is', 'pass', 'variation', 'fail, known'],
  ...['fail', 'inconclusive', 'n/a', 'died', 'withheld'],
];

function deviceCells(result: ResultFile): string[] {
  const counts = countVerdicts(result.rules);
  const numbers = [
    counts.pass,
    counts.variation,
    counts.known,
    counts.fail,
    counts.inconclusive,
    counts['not-applicable'],
  ];
  const { withheldFindings: withheld } = result;
  const died = withheld === undefined ? String(result.deaths.length) : 'withheld';
  const left = withheld === undefined ? '' : `${withheld} findings (${counts.withheld} rules)`;
  return [columnName(result), result.description, ...numbers.map(String), died, left];
}

function areaSection(title: string, rules: readonly ConformanceRule[], results: readonly ResultFile[]): string[] {
  return [
    `## ${title}`,
    '',
    row(['rule', 'says', 'level', ...results.map(columnName)]),
    row(['---', '---', '---', ...results.map(() => '---')]),
    ...rules.map((rule) =>
      row([rule.id, cell(rule.says), rule.level, ...results.map((result) => verdictCell(rule, result))]),
    ),
    '',
  ];
}

function verdictCell(rule: ConformanceRule, result: ResultFile): string {
  const found = rowOf(rule, result);
  if (found === undefined) return '';
  return verdictName({ verdict: found.verdict, known: found.known });
}

function reasons(rules: readonly ConformanceRule[], result: ResultFile): string[] {
  const told = rules.flatMap((rule) => {
    const found = rowOf(rule, result);
    if (found === undefined || found.verdict === 'pass' || found.verdict === 'withheld') return [];
    const known = found.known === undefined ? '' : ` Known: ${found.known.does} (${found.known.evidence})`;
    return [
      `- **${rule.id}** ${verdictName({ verdict: found.verdict, known: found.known })}: ${steady(found.reason)}.${known}`,
    ];
  });
  const { withheldFindings } = result;
  const withheld = withheldFindings === undefined ? [] : [`- withheld: ${withheldFindings} findings`];
  const deaths = [...withheld, ...result.deaths.map((death) => `- It died: ${steady(death)}`)];
  if (told.length + deaths.length === 0) return [`### ${columnName(result)}`, '', 'Nothing.', ''];
  return [`### ${columnName(result)}`, '', ...deaths, ...told, ''];
}

const rowOf = (rule: ConformanceRule, result: ResultFile): ResultRow | undefined =>
  result.rules.find((one) => one.rule === rule.id);

/** Our own device by its name, guests by their kernel. */
export function columnName({ dut, device, deviceVersion }: ResultFile): string {
  if (device === 'rocev2') return 'rocev2';
  return dut.startsWith('lab:') ? `${device} ${deviceVersion}` : `${device} ${deviceVersion} (${dut})`;
}

/** Keys, addresses and the like are others in each run. */
function steady(text: string): string {
  const same = text
    .replace(/(rkey |inv )?0x[0-9a-f]+/g, (number, key = '') =>
      key !== '' || number.length > 6 ? `${key}0x..` : number,
    )
    .replace(/crc [0-9a-f]+/g, 'crc ..')
    .replace(/\[ *\d+\.\d+\] /g, '');
  return cell(same).replace(/\.+$/, '');
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const INTRODUCTION = [
  '# Conformance',
  '',
  'Written by `npm run docs:conformance`, which runs every case of the registry against our own stack and against Linux `rdma_rxe` in guests of',
  'the lab. CI runs it for our stack and for rxe 6.1 and 6.12 and fails if a verdict differs from this page. How to read a verdict, and how to',
  'test a device of your own: [conformance.md](conformance.md). What rxe does otherwise, with a command for each:',
  '[rxe-findings.md](rxe-findings.md). `npm run docs:conformance -- --run` writes the captures of its runs into `conformance-out/DEVICE/`, which',
  'git ignores; each file is named after its rule and case.',
  '',
  '- **pass**: the device did as the rule says, in every case of the rule.',
  '- **variation**: it did what is allowed and not usual, or broke a rule that is no `must`.',
  '- **fail (known)**: it broke the rule, as the registry says with evidence that it does. **FAIL**: it broke it, and the registry does not know of it.',
  '- **withheld**: security findings that are not published yet ([SECURITY.md](../SECURITY.md)); the verdicts of a whole area are left out, so that none',
  '  tells what to send, and with them those of rules that stand for it.',
  '- **inconclusive**: nothing was proven; the reason is below. **n/a**: the rule has no meaning for this device.',
];
