/**
 * The verdicts: what is wrong, which packets prove it, what to do, how to see more.
 *
 * Owns their layout. What they say is the detectors'.
 */

import { type CaptureReport, type Finding, SEVERITIES, type Severity, SYMPTOMS } from 'rocev2/pcap';
import { grouped } from '../table.ts';
import { shellQuote } from '../visible-text.ts';
import { findingGuide } from './finding-page.ts';
import { framesText, tallyText, wrap } from './words.ts';

/**
 * "2 errors, 1 warning"; "nothing found" for none. It says so when there is RoCEv2, or may be, that cannot be read.
 *
 * @param limited the capture cannot know everything, so that no alarm is not all well
 */
export function verdictText(
  findings: readonly Finding[],
  { rocePackets, unread }: CaptureReport,
  limited = false,
): string {
  const hidden = Object.values(unread).reduce((sum, count) => sum + count, 0);
  const limit = hidden === 0 ? '' : `; ${grouped(hidden)} packets cannot be read: ${tallyText(unread)}`;
  const alarms = findings.some(({ severity }) => severity !== 'note');
  const asFar = limited && !alarms && rocePackets > 0 ? ', as far as this capture can show' : '';
  return `${judgement(findings, rocePackets)}${asFar}${limit}`;
}

function judgement(findings: readonly Finding[], rocePackets: number): string {
  const counts = SEVERITIES.map((severity) => [severity, countOf(findings, severity)] as const).filter(
    ([, count]) => count > 0,
  );
  if (counts.length === 0) return rocePackets === 0 ? 'no RoCEv2 packets' : 'nothing found that is wrong';
  return counts.map(([severity, count]) => `${count} ${severity}${count === 1 ? '' : 's'}`).join(', ');
}

/** One finding in full, about the capture of this name; with `verbose` also why it is so and the figures behind it. */
export function findingLines(finding: Finding, name: string, verbose: boolean): string[] {
  const { id, severity, text, frames, frameCount, conversations, advice, commands, evidence } = finding;
  const symptom = SYMPTOMS.find((known) => known.id === id);
  const title = symptom === undefined ? '' : `: ${symptom.title}`;
  const lines = [`${severity.toUpperCase()} ${id}${title}`, ...wrap(text, '  ')];
  const where =
    conversations.length === 0
      ? ''
      : `, conversation${conversations.length === 1 ? '' : 's'} ${conversations.join(', ')}`;
  if (frames.length > 0)
    lines.push(
      ...wrap(`${framesText(frames, frameCount)}${where}`, frames.length === 1 ? '  packet   ' : '  packets  '),
    );
  else if (where !== '') lines.push(...wrap(where.slice(2), '  in       '));
  if (symptom !== undefined && verbose)
    lines.push(...wrap(symptom.complaint, '  seen as  '), ...wrap(symptom.about, '  why      '));
  if (verbose) lines.push(...evidenceLines(evidence));
  lines.push(...advice.flatMap((sentence, at) => wrap(sentence, at === 0 ? '  do       ' : '           ')));
  // Commands are copied by users, so their lines are not broken, and a name is one word whatever is in it.
  const file = name === STANDARD_INPUT ? 'FILE' : shellQuote(name);
  const typed = commands.map((command) =>
    command.startsWith('roce ') ? command.replace(/\bFILE\b/, () => file) : command,
  );
  lines.push(...typed.map((command, at) => `${at === 0 ? '  run      ' : '           '}${command}`));
  lines.push(`  more     ${findingGuide(id)}`);
  return lines;
}

/** What a capture is called that has no name. */
export const STANDARD_INPUT = 'standard input';

function evidenceLines(evidence: Finding['evidence']): string[] {
  const figures = Object.entries(evidence).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join(' ') : value}`,
  );
  return figures.length === 0 ? [] : wrap(figures.join(', '), '  figures  ');
}

function countOf(findings: readonly Finding[], wanted: Severity): number {
  return findings.filter(({ severity }) => severity === wanted).length;
}
