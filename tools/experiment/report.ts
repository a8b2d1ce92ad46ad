/**
 * The report on a run of an experiment: Markdown to read, JSON to compute with. Owns the texts; writes no files.
 */
import { join } from 'node:path';
import { defined } from 'rocev2/packets';
import { codeBlock, codeSpan, markdownText, shellQuote, visible } from '../visible-text.ts';
import type { Judgement } from './judge.ts';
import type { CaseResult, ExperimentResult } from './result.ts';

/** The report as Markdown, for a folder whose files it names. */
export function reportMarkdown(result: ExperimentResult): string {
  const { experiment, passed, environment } = result;
  return visible(
    [
      `# ${experiment.title}`,
      '',
      `**${passed ? 'As expected' : 'NOT as expected'}** - experiment \`${experiment.name}\`, ${result.started}`,
      '',
      experiment.about,
      '',
      ...environmentLines(environment),
      ...parameterLines(result),
      '## Hosts and wires',
      '',
      '| host | what it is | addresses |',
      '| --- | --- | --- |',
      ...result.hosts.map(
        ({ name, description }) =>
          `| ${name} | ${markdownText(description)} | ${experiment.hosts[name]?.addresses.join(', ') ?? ''} |`,
      ),
      '',
      ...experiment.wires.map(({ name, between: [a, b] }) => `Wire \`${name}\`: ${a} (a) - ${b} (b).`),
      '',
      ...HOW_TO_CHECK,
      ...result.cases.flatMap((one) => caseLines(one)),
    ].join('\n'),
  );
}

/** The report as data: what `report.json` holds. */
export function reportData(result: ExperimentResult): unknown {
  const { experiment, cases, ...rest } = result;
  return {
    ...rest,
    experiment,
    cases: cases.map(({ record, ...one }) => ({
      ...one,
      ...defined({ problem: record.problem }),
      commands: record.commands.map(({ name, step, result: { code }, ending }) => ({
        name,
        host: step.host,
        command: step.command,
        exit: code,
        ...defined({ ending }),
      })),
      counters: Object.fromEntries(record.counters),
      wires: record.wires.map(({ name, account }) => ({ name, directions: account.directions, rules: account.rules })),
    })),
  };
}

function environmentLines(environment: ExperimentResult['environment']): string[] {
  return Object.entries(environment).map(([name, value]) => `- ${name}: ${markdownText(value)}`);
}

function parameterLines({ experiment }: ExperimentResult): string[] {
  const values = Object.entries(experiment.parameters).map(
    ([name, value]) => `${name} = ${markdownText(String(value))}`,
  );
  return values.length === 0 ? [''] : [`- parameters: ${values.join(', ')}`, ''];
}

function caseLines({ spec, passed, record, judgements, folder }: CaseResult): string[] {
  return [
    `## ${spec.name}: ${passed ? 'as expected' : 'NOT as expected'}`,
    '',
    ...(spec.about === undefined ? [] : [spec.about, '']),
    `Files are in \`${folder}/\`. It took ${record.seconds.toFixed(1)} s.`,
    '',
    ...record.commands.map(
      ({ name, step, result, ending }) =>
        `- ${codeSpan(name)}, on ${step.host}: ${codeSpan(step.command)} - exit code ${result.code}${ending === undefined ? '' : `, ${markdownText(ending)}`}`,
    ),
    ...record.wires.flatMap((wire) => ruleLines(wire)),
    '',
    '| verdict | expectation | wanted | found | frames |',
    '| --- | --- | --- | --- | --- |',
    ...judgements.map(row),
    '',
    ...judgements.flatMap((judgement) => detailLines(judgement, folder)),
  ];
}

function ruleLines({ name, account }: CaseResult['record']['wires'][number]): string[] {
  return account.rules.map(
    (rule) =>
      `- wire ${name}, rule "${markdownText(rule.name)}": ${codeSpan(JSON.stringify(rule.rule))} - applied ${rule.applied} times`,
  );
}

function row({ verdict, what, wanted, found, frames = [], mustFail }: Judgement): string {
  const turned = { pass: 'fails, as it must', fail: 'must fail, and holds', 'not checked': verdict };
  return `| ${mustFail === undefined ? verdict : turned[verdict]} | ${markdownText(what)} | ${markdownText(wanted)} | ${markdownText(found)} | ${frames.join(', ')} |`;
}

/** What a table has no room for. */
function detailLines({ what, why, mustFail, filter, file }: Judgement, folder: string): string[] {
  if (why === undefined && mustFail === undefined && filter === undefined) return [];
  return [
    `**${markdownText(what)}**`,
    '',
    ...(why === undefined ? [] : [why, '']),
    ...(mustFail === undefined ? [] : [`Must fail: ${mustFail}`, '']),
    ...(filter === undefined ? [] : [...codeBlock('sh', tsharkCommand(join(folder, file ?? ''), filter)), '']),
  ];
}

/** A line to be pasted into a shell: names and filters are one word each, whatever is in them. */
function tsharkCommand(file: string, filter: string): string {
  return `tshark -r ${shellQuote(file)} -Y ${shellQuote(filter)}`;
}

const HOW_TO_CHECK = [
  'A capture has both ends of its wire, as interfaces a and b that are described by the names of the hosts. To see the wire as one host saw it, use',
  '`frame.interface_description == "NAME"` in Wireshark; every frame that the wire touched has a comment (`frame.comment`).',
  '',
];
