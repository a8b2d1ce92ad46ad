/** The figures of runs between guests as tables, and the file that keeps them between a run and the page. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Judgement, Verdicts } from '../judge.ts';
import { missTable } from '../misses.ts';
import { markdown, precision, recall, share, tooShortLine, total } from '../table.ts';
import type { GuestRow } from './judge.ts';
import type { GuestTruth } from './measure.ts';
import { addShare, precisionOf, recallOf } from './share.ts';
import type { FrameRow } from './single-frames.ts';

/** What the last whole run with guests gave: no machine without guests can give it again. */
export const GUESTS_FILE = fileURLToPath(new URL('../../../docs/truth-results/guests.json', import.meta.url));

export function readGuestTruths(): GuestTruth[] {
  return JSON.parse(readFileSync(GUESTS_FILE, 'utf8')) as GuestTruth[];
}

export function writeGuestTruths(truths: readonly GuestTruth[]): void {
  writeFileSync(GUESTS_FILE, `${JSON.stringify(truths, null, 2)}\n`);
}

/** All tables of the kernels together. */
export function guestText(truths: readonly GuestTruth[]): string {
  const runs = truths.reduce((sum, truth) => sum + truth.runs, 0);
  const kernels = truths.map(({ release, runs: own }) => `${own} with Linux ${release}`).join(', ');
  const { requests, frames } = sumGuests(truths);
  return [
    `${runs} runs: ${kernels}.`,
    'Requests:',
    requestTable(requests),
    'Lost requests by what is said of them:',
    missTable(requests),
    'READ responses that did not arrive, ACK timeouts, and captures that have an error:',
    otherTable(requests),
    tooShortLine(requests.map(({ timeouts, tooShort }) => ({ told: timeouts, tooShort }))),
    'Single frames, all kinds of network together:',
    frameTable(frames),
  ].join('\n\n');
}

/** The figures of all kernels in one row for each kind and place. */
export function sumGuests(truths: readonly GuestTruth[]): Pick<GuestTruth, 'requests' | 'frames'> {
  const requests = new Map<string, GuestRow>();
  const frames = new Map<string, FrameRow>();
  for (const truth of truths) {
    for (const row of truth.requests) {
      const key = `${row.kind}|${row.vantage}`;
      const before = requests.get(key);
      requests.set(key, before === undefined ? row : addRows(before, row));
    }
    for (const row of truth.frames) {
      const key = `${row.action}|${row.vantage}`;
      const before = frames.get(key);
      frames.set(key, before === undefined ? row : { ...row, share: addShare(before.share, row.share) });
    }
  }
  return { requests: [...requests.values()], frames: [...frames.values()] };
}

function addRows(one: GuestRow, other: GuestRow): GuestRow {
  return {
    ...one,
    runs: one.runs + other.runs,
    judgement: addJudgements(one.judgement, other.judgement),
    responses: addShare(one.responses, other.responses),
    timeouts: one.timeouts + other.timeouts,
    tooShort: one.tooShort + other.tooShort,
    errors: [...one.errors, ...other.errors],
    cases: [...one.cases, ...other.cases],
  };
}

function addJudgements(one: Judgement, other: Judgement): Judgement {
  const add = (which: keyof Judgement): Verdicts => {
    const [a, b] = [one[which], other[which]];
    return {
      lost: a.lost + b.lost,
      overtaken: a.overtaken + b.overtaken,
      undecided: a.undecided + b.undecided,
      nothing: a.nothing + b.nothing,
    };
  };
  return {
    lost: add('lost'),
    overtaken: add('overtaken'),
    discarded: add('discarded'),
    sound: add('sound'),
    decidable: add('decidable'),
  };
}

function requestTable(rows: readonly GuestRow[]): string {
  const lines = rows.map(({ kind, vantage, runs, judgement }) => {
    const { lost, overtaken, discarded, sound } = judgement;
    return [
      ...[kind, vantage, runs, total(lost), share(precision(judgement, 'lost')), share(recall(lost, 'lost'))],
      overtaken.lost + discarded.lost + sound.lost,
      ...[total(overtaken), share(precision(judgement, 'overtaken')), share(recall(overtaken, 'overtaken'))],
      lost.undecided + overtaken.undecided + discarded.undecided + sound.undecided,
    ];
  });
  return markdown(REQUESTS_HEAD, lines);
}

function otherTable(rows: readonly GuestRow[]): string {
  const lines = rows.map(({ kind, vantage, responses, timeouts, tooShort, errors }) => [
    ...[kind, vantage, responses.real, share(precisionOf(responses)), share(recallOf(responses))],
    ...[timeouts, tooShort, errors.length],
  ]);
  return markdown(OTHER_HEAD, lines);
}

function frameTable(rows: readonly FrameRow[]): string {
  const lines = rows.map(({ action, vantage, share: sum }) => [
    ...[ACTION_WORDS[action] ?? action, vantage, sum.real, share(precisionOf(sum)), share(recallOf(sum))],
  ]);
  return markdown('what was done | seen at | frames | precision | recall', lines);
}

const ACTION_WORDS: Readonly<Record<string, string>> = {
  drop: 'dropped',
  duplicate: 'doubled',
  corrupt: 'damaged',
  reorder: 'held back or delayed',
  'mark-ce': 'marked CE',
};
const REQUESTS_HEAD =
  'network | seen at the | runs | lost | precision | recall | falsely lost | overtaken | precision | recall | told "cannot be told"';
const OTHER_HEAD =
  'network | seen at the | READ responses missing | precision | recall | timeouts told | shorter than agreed | errors';
