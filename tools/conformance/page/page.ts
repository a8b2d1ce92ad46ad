/**
 * CONFORMANCE.md: rules and devices, each cell a verdict and a link to its capture. Owns the layout. A text of this layout has neither times
 * nor numbers that differ from run to run, so that it changes when a verdict or a version does.
 */
import { AREAS, type Rule } from '../rules/types.ts';
import type { ResultFile, ResultRow } from '../runner/files.ts';
import { countVerdicts, verdictName } from '../runner/report.ts';
import { AREA_TITLES } from './titles.ts';

/** The whole page. @param results one for each device, in the order of the columns */
export function conformancePage(rules: readonly Rule[], results: readonly ResultFile[]): string {
  const areas = AREAS.map((area) => ({ area, of: rules.filter((rule) => rule.area === area) }));
  return [
    ...INTRODUCTION,
    '',
    '## Devices',
    '',
    '| device | what it is | pass | variation | fail, known | fail | inconclusive | n/a | died | withheld |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.map(deviceLine),
    '',
    ...areas.flatMap(({ area, of }) => areaSection(`${area}: ${AREA_TITLES[area]}`, of, results)),
    '## Why',
    '',
    'What is not a plain pass, device by device.',
    '',
    ...results.flatMap((result) => reasons(rules, result)),
  ].join('\n');
}

function deviceLine(result: ResultFile): string {
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
  return row([columnName(result), result.description, ...numbers.map(String), died, left]);
}

function areaSection(title: string, rules: readonly Rule[], results: readonly ResultFile[]): string[] {
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

function verdictCell(rule: Rule, result: ResultFile): string {
  const found = rowOf(rule, result);
  if (found === undefined) return '';
  const name = verdictName({ verdict: found.verdict, known: found.known });
  const [capture] = found.captures;
  return capture === undefined ? name : `[${name}](${capture})`;
}

function reasons(rules: readonly Rule[], result: ResultFile): string[] {
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

const rowOf = (rule: Rule, result: ResultFile): ResultRow | undefined =>
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
  'the lab. CI runs it for our stack and for rxe 6.1 and 6.12 and fails where a verdict is not as it stands here. How to read a verdict, and how',
  'to point the tester at a device of your own: [docs/conformance.md](docs/conformance.md). What rxe does otherwise, with a command for each:',
  '[docs/rxe-findings.md](docs/rxe-findings.md). A verdict leads to the capture of its run, which `npm run docs:conformance -- --run` leaves',
  'below `conformance-out/`.',
  '',
  '- **pass**: the device did as the rule says, in every case of the rule.',
  '- **variation**: it did what is allowed and not usual, or broke a rule that is no `must`.',
  '- **fail (known)**: it broke the rule, as the registry says with evidence that it does. **FAIL**: it broke it, and nobody knew.',
  '- **withheld**: security findings that are not published yet ([SECURITY.md](SECURITY.md)); the verdicts of a whole area are left out, so that none',
  '  tells what to send, and with them those of rules that stand for it.',
  '- **inconclusive**: nothing was proven; the reason is below. **n/a**: the rule has no meaning for this device.',
];
