/**
 * The report of an analysis as text: findings first, then totals and conversations.
 *
 * Owns how much is shown: all findings, a line for each conversation, and in full those that findings name or, of a
 * few, all.
 */
import type { Analysis, CaptureReport, ConversationReport, PathReport } from 'rocev2/pcap';
import { formatTable, grouped } from '../table.ts';
import { visibleLine } from '../visible-text.ts';
import { narrowed } from './analyze.ts';
import { conversationLines, overviewLines } from './conversation-text.ts';
import { eventLines } from './event-text.ts';
import { findingLines, verdictText } from './findings-text.ts';
import { isLimited, limitLines } from './limits-text.ts';
import { bytesText, durationText, tallyText, wrap } from './words.ts';

/** What of an analysis is shown. */
export interface ReportOptions {
  /** What the capture is called, also in commands to be typed. */
  readonly name: string;
  /** What it is called above the report; default: `name`. */
  readonly title?: string;
  /** Names of its interfaces, by index. */
  readonly interfaces: readonly string[];
  /** Show only these conversations, in full, and the findings about them. */
  readonly conversations: readonly number[];
  readonly events: boolean;
  /** Why a symptom is one, and the figures behind each finding. */
  readonly verbose: boolean;
}

/** The whole report in lines. */
export function reportLines(whole: Analysis, options: ReportOptions): string[] {
  const { conversations, verbose, name, title = name } = options;
  const analysis = conversations.length === 0 ? whole : narrowed(whole, conversations);
  const { findings } = analysis;
  const sections = [
    [`${visibleLine(title)}: ${verdictText(findings, analysis.capture, isLimited(whole))}`],
    limitLines(whole, options.interfaces),
    ...findings.map((finding) => findingLines(finding, name, verbose)),
  ];
  sections.push(conversations.length === 0 ? captureLines(analysis.capture, verbose) : []);
  sections.push(
    conversations.length > 0 || analysis.paths.length === 0 ? [] : pathLines(analysis.paths, options.interfaces),
  );
  sections.push(...conversationSections(analysis, options));
  if (options.events) sections.push(eventLines(analysis));
  return sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

function conversationSections(analysis: Analysis, { conversations: wanted, interfaces }: ReportOptions): string[][] {
  const { conversations, findings, conversationsOmitted } = analysis;
  const full = (all: readonly ConversationReport[]) => all.map((each) => conversationLines(each, interfaces));
  if (wanted.length > 0) return full(conversations);
  const omitted = conversationsOmitted === 0 ? [] : [`  ${grouped(conversationsOmitted)} more were not followed`];
  if (conversations.length === 0) return [['no conversations', ...omitted]];
  const named = new Set(findings.flatMap((finding) => finding.conversations));
  const shown =
    conversations.length <= MOST_IN_FULL
      ? conversations
      : conversations.filter(({ id }) => named.has(id)).slice(0, MOST_IN_FULL);
  const lines = conversations.slice(0, MOST_IN_LINES);
  const rest = conversations.length - lines.length;
  const more = rest === 0 ? [] : [`  ${grouped(rest)} more: --conversation N shows one, --json all`];
  return [['conversations', ...overviewLines(lines), ...more, ...omitted], ...full(shown)];
}

function captureLines(capture: CaptureReport, verbose: boolean): string[] {
  const { packets, bytes, durationNs, rocePackets, goodIcrc, badIcrc, cutPackets, captureDrops } = capture;
  const { tunnels, unread, others, opcodes } = capture;
  const unknown = rocePackets - goodIcrc - badIcrc;
  const icrcs = [
    goodIcrc === rocePackets
      ? 'every ICRC is right'
      : `${grouped(goodIcrc)} ICRCs are right, ${grouped(badIcrc)} wrong`,
    unknown > 0 ? `${grouped(unknown)} not known` : '',
  ];
  const lines = [
    ...wrap(`${grouped(packets)} packets, ${bytesText(bytes)} in ${durationText(durationNs)}`, 'capture    '),
    ...wrap(
      `${grouped(rocePackets)} packets${rocePackets === 0 ? '' : `; ${icrcs.filter((text) => text !== '').join(', ')}`}`,
      'RoCEv2     ',
    ),
  ];
  if (cutPackets > 0)
    lines.push(...wrap(`${grouped(cutPackets)} packets, of which the capture kept a part only`, 'cut        '));
  if (captureDrops > 0)
    lines.push(...wrap(`${grouped(captureDrops)} packets that the capturing host dropped`, 'dropped    '));
  if (Object.keys(tunnels).length > 0) lines.push(...wrap(tallyText(tunnels), 'tunnels    '));
  if (Object.keys(unread).length > 0) lines.push(...wrap(tallyText(unread), 'not read   '));
  if (Object.keys(others).length > 0) lines.push(...wrap(tallyText(others), 'others     '));
  if (verbose && Object.keys(opcodes).length > 0) lines.push(...wrap(tallyText(opcodes), 'operations '));
  return lines;
}

function pathLines(paths: readonly PathReport[], interfaces: readonly string[]): string[] {
  const name = (index: number): string => interfaces[index] || `${index}`;
  const rows = paths.map(({ from, to, frames, effects }) => [
    `${name(from)} to ${name(to)}`,
    grouped(frames),
    tallyText(effects) || 'as they came',
  ]);
  return [
    'between interfaces',
    ...formatTable(['way', 'frames', 'what became of them'], rows, ['left', 'right', 'left']),
  ];
}

const MOST_IN_FULL = 8;
const MOST_IN_LINES = 100;
