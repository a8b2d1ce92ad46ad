/** The diagnosis as text. Owns the layout: findings first, then who stands out, then what was compared. */
import { SEVERITIES, SYMPTOMS } from 'rocev2/pcap';
import { findingGuide } from '../analyze/finding-page.ts';
import { wrap } from '../analyze/words.ts';
import { formatTable, grouped } from '../table.ts';
import type { CounterAnalysis } from './diagnose.ts';
import { type PortDelta, placeOf } from './difference.ts';
import type { CounterFinding } from './finding.ts';
import type { Outlier } from './fleet.ts';
import { ALL_KINDS, KINDS } from './kinds.ts';
import { percent } from './rules-transport.ts';

/** With `verbose` every port with all that it counted, and why each symptom is one. */
export function counterReport(analysis: CounterAnalysis, verbose: boolean): string[] {
  const { findings, outliers, ports, remarks, hosts } = analysis;
  const named = hosts.filter((host) => host !== '').length;
  const lines = [
    `counters of ${counted(ports.length, 'port')}${named === 0 ? '' : ` of ${counted(named, 'host')}`}: ${ports.length === 0 ? 'nothing was compared' : verdict(findings)}`,
  ];
  for (const finding of findings) lines.push('', ...findingText(finding, verbose));
  if (outliers.length > 0) lines.push('', 'STANDS OUT among the ports', ...outliers.flatMap(outlierText));
  const shown = verbose ? ports : ports.filter(isRemarkable).slice(0, MOST_PORTS);
  for (const port of shown) lines.push('', ...portText(port));
  const left = ports.length - shown.length;
  if (left > 0)
    lines.push(
      '',
      `${counted(left, 'other port')} counted nothing but traffic, or ${left === 1 ? 'is' : 'are'} left out here (-v shows all)`,
    );
  if (remarks.length > 0) lines.push('', 'remarks', ...remarks.flatMap((remark) => wrap(remark, '  ')));
  lines.push('', ...wrap(LIMIT, ''));
  return lines;
}

function verdict(findings: readonly CounterFinding[]): string {
  const counts = SEVERITIES.map(
    (severity) => [severity, findings.filter((each) => each.severity === severity).length] as const,
  )
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => counted(count, severity));
  return counts.length === 0 ? 'nothing found that is wrong' : counts.join(', ');
}

function findingText(
  { id, severity, text, limit, advice, commands, evidence }: CounterFinding,
  verbose: boolean,
): string[] {
  const symptom = SYMPTOMS.find((known) => known.id === id);
  const figures = Object.entries(evidence).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join(' ') : value}`,
  );
  return [
    `${severity.toUpperCase()} ${id}${symptom === undefined ? '' : `: ${symptom.title}`}`,
    ...wrap(text, '  '),
    ...wrap(limit, '  limit    '),
    ...(verbose && symptom !== undefined ? wrap(symptom.about, '  why      ') : []),
    ...(verbose && figures.length > 0 ? wrap(figures.join(', '), '  figures  ') : []),
    ...(severity === 'note' && !verbose
      ? []
      : [
          ...advice.flatMap((sentence, at) => wrap(sentence, at === 0 ? '  do       ' : '           ')),
          ...commands.map((command, at) => `${at === 0 ? '  run      ' : '           '}${command}`),
        ]),
    `  more     ${symptom === undefined ? 'docs/counters.md' : findingGuide(id)}`,
  ];
}

function outlierText({ kind, port, value, share, median, ports, sinceMs, sinceSnapshot }: Outlier): string[] {
  const since =
    sinceMs !== undefined
      ? `; it began after ${new Date(sinceMs).toISOString()}`
      : sinceSnapshot !== undefined
        ? `; it began after snapshot ${sinceSnapshot}`
        : '';
  return wrap(
    `${port}: ${kind} ${grouped(value)}, ${percent(share)} of all ${ports} ports, whose median is ${grouped(median)}${since}`,
    '  ',
  );
}

function portText(port: PortDelta): string[] {
  const { figures, seconds, unknown, settings } = port;
  const rows = ALL_KINDS.flatMap((kind) => {
    const figure = figures.get(kind);
    if (figure === undefined || figure.value === 0) return [];
    const rate = seconds === undefined ? '' : `${rateText(figure.value / seconds)}/s`;
    return [[kind, grouped(figure.value), rate, KINDS[kind].about]];
  });
  const heading = `${placeOf(port)}${seconds === undefined ? '' : ` in ${rateText(seconds)} s`}`;
  const notKnown = [...unknown].map(([name, value]) => `${name} ${grouped(value)}`);
  return [
    heading,
    ...(rows.length === 0
      ? ['  nothing grew that is known']
      : formatTable(['', '', '', ''], rows, ['left', 'right', 'right', 'left']).slice(1)),
    ...(settings.pfc === undefined
      ? []
      : [
          `  PFC on priority ${settings.pfc.length === 0 ? 'none' : settings.pfc.join(', ')}${settings.trust === undefined ? '' : `, trust ${settings.trust}`}`,
        ]),
    ...(notKnown.length === 0
      ? []
      : wrap(
          `grew, and not known here: ${notKnown.slice(0, MOST_UNKNOWN).join(', ')}${notKnown.length > MOST_UNKNOWN ? ` and ${notKnown.length - MOST_UNKNOWN} more` : ''}`,
          '  ',
        )),
  ];
}

function isRemarkable({ figures }: PortDelta): boolean {
  return [...figures].some(([kind, { value }]) => value > 0 && !/packets$|^priority|^cm-(accepted|reply)/.test(kind));
}

function rateText(value: number): string {
  return value >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)));
}

function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

const LIMIT =
  'Counters add up all queue pairs of a port: they cannot tell which queue pair or peer it was, nor in what order things happened between two snapshots. A capture can (roce analyze FILE).';
const MOST_PORTS = 8;
const MOST_UNKNOWN = 6;
