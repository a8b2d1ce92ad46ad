/**
 * Draws ladder steps as lines of text: time, an arrow between two columns, and what is noteworthy.
 *
 * Owns the layout. Never reads frames and never writes anywhere. Colour, when asked for, is ANSI and adds no width.
 * A run of steps that differ in their PSN alone is drawn by its ends and a count.
 */
import { type LadderStep, markName, StepMark } from './step.ts';

export interface LadderLayout {
  /** Headings of the two columns, one short word each. */
  readonly left: string;
  readonly right: string;
  /** Columns in all; default 100, at least 80. */
  readonly width?: number;
  /** Default false. */
  readonly color?: boolean;
  /** What counts as 0 in the column of times, nanoseconds; default the time of the first step. */
  readonly originNs?: number;
}

/** One heading line and at most one line for each step; none for no steps. */
export function drawLadder(steps: readonly LadderStep[], layout: LadderLayout): string[] {
  const [first] = steps;
  if (first === undefined) return [];
  const originNs = layout.originNs ?? first.timeNs;
  const timeColumns = steps.reduce(
    (widest, step) => Math.max(widest, timeText(step, originNs).length),
    MIN_TIME_COLUMNS,
  );
  const drawing = new Drawing(originNs, timeColumns, layout);
  const lines = [drawing.heading()];
  for (let at = 0; at < steps.length; ) {
    const run = steps.slice(at, at + runLength(steps, at));
    const [head, last] = [run[0], run[run.length - 1]];
    if (run.length < SHORTEST_RUN || head === undefined || last === undefined) {
      lines.push(...run.map((step) => drawing.step(step)));
    } else lines.push(drawing.step(head), drawing.run(run.slice(1, -1)), drawing.step(last));
    at += run.length;
  }
  return lines;
}

/** How many steps from `at` on are the same but for time and PSN. */
function runLength(steps: readonly LadderStep[], at: number): number {
  let end = at + 1;
  while (end < steps.length && sameKind(steps[end - 1], steps[end])) end++;
  return end - at;
}

/** Whether two steps are the same but for time and PSN. */
export function sameKind(a: LadderStep | undefined, b: LadderStep | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.fromLeft === b.fromLeft && a.label === b.label && a.detail === b.detail && a.marks === b.marks;
}

/** One ladder: its columns, and the lines that keep to them. */
export class Drawing {
  readonly #layout: LadderLayout;
  readonly #originNs: number;
  readonly #timeColumns: number;
  /** Between the two rails. */
  readonly #inner: number;

  /** `timeColumns`: room for times; longer ones push the rails aside. */
  constructor(originNs: number, timeColumns: number, layout: LadderLayout) {
    this.#layout = layout;
    this.#originNs = originNs;
    this.#timeColumns = timeColumns;
    const width = Math.max(layout.width ?? DEFAULT_WIDTH, MIN_WIDTH);
    this.#inner = width - this.#timeColumns - GAP.length - MARK_COLUMNS - 2;
  }

  heading(): string {
    const { left, right } = this.#layout;
    const start = `${'time us'.padStart(this.#timeColumns)}${GAP}${left}`;
    return `${start}${right.padStart(this.#timeColumns + GAP.length + this.#inner + 2 - start.length)}`;
  }

  step(step: LadderStep): string {
    const time = timeText(step, this.#originNs).padStart(this.#timeColumns);
    return `${time}${GAP}${this.#between(drawArrow(step, this.#inner), step.marks)}`;
  }

  /** The middle of a run: what is not drawn. */
  run(steps: readonly LadderStep[]): string {
    const first = steps[0];
    const last = steps[steps.length - 1];
    return first === undefined || last === undefined ? '' : this.runOf(first, last, steps.length);
  }

  /** The same for a run of `count` steps of which only the ends are at hand. */
  runOf(first: LadderStep, last: LadderStep, count: number): string {
    const psns = first.psn === undefined ? '' : `  psn ${first.psn} .. ${last.psn}`;
    const words = clip(`⋮  ${count} more ${first.label}${psns}`, this.#inner - 6);
    const placed = first.fromLeft ? `   ${words}`.padEnd(this.#inner) : `${words}   `.padStart(this.#inner);
    return `${' '.repeat(this.#timeColumns)}${GAP}${this.#between(placed, first.marks)}`;
  }

  /** A line of words that belong to no rail. */
  note(timeNs: number, text: string): string {
    return `${timeText({ timeNs }, this.#originNs).padStart(this.#timeColumns)}${GAP}·  ${text}`;
  }

  #between(text: string, marks: number): string {
    const color = this.#layout.color === true ? colorOf(marks) : '';
    return `│${paint(text, color)}│${marks === StepMark.None ? '' : `${GAP}${paint(markName(marks), color)}`}`;
  }
}

function timeText({ timeNs }: Pick<LadderStep, 'timeNs'>, originNs: number): string {
  return ((timeNs - originNs) / 1000).toFixed(3);
}

/** `── words ─────────▶`, mirrored for the other direction; a lost frame stops on its way. */
function drawArrow(step: LadderStep, inner: number): string {
  const room = inner - MIN_SHAFT;
  const words = clip(wordsOf(step), room);
  const lost = (step.marks & StepMark.Lost) !== 0;
  const shaft = inner - words.length - 5;
  const reach = lost ? Math.max(1, Math.floor(shaft * LOST_REACH) - 2) : shaft;
  const head = lost ? ` ✗${' '.repeat(shaft - reach - 1)}` : step.fromLeft ? '▶' : '◀';
  if (step.fromLeft) return `── ${words} ${'─'.repeat(reach)}${head}`;
  return `${lost ? [...head].reverse().join('') : head}${'─'.repeat(reach)} ${words} ──`;
}

function wordsOf(step: LadderStep): string {
  const psn = step.psn === undefined ? '' : `  psn ${step.psn}`;
  return `${step.label}${psn}${step.detail === '' ? '' : `  ${step.detail}`}`;
}

function clip(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

function paint(text: string, color: string): string {
  return color === '' ? text : `${color}${text}${RESET}`;
}

function colorOf(marks: number): string {
  return COLORS.find(([bits]) => (marks & bits) !== 0)?.[1] ?? '';
}

const DEFAULT_WIDTH = 100;
const MIN_WIDTH = 80;
const MIN_TIME_COLUMNS = 10;
const GAP = '  ';
/** Gap and the longest usual marks. */
const MARK_COLUMNS = 24;
/** What an arrow keeps for its shaft however long the words are. */
const MIN_SHAFT = 12;
/** How far a lost frame gets, of the shaft behind the words. */
const LOST_REACH = 0.6;
/** Shorter runs are drawn in full: a line that says "1 more" saves nothing. */
export const SHORTEST_RUN = 4;
const RESET = '\x1b[0m';
/** The first that fits decides: red for what went wrong on the wire, yellow for what the queue pairs do about it. */
const COLORS: readonly (readonly [bits: number, code: string])[] = [
  [StepMark.Lost | StepMark.Corrupt, '\x1b[31m'],
  [StepMark.Nak, '\x1b[1;33m'],
  [StepMark.Retransmit, '\x1b[33m'],
  [StepMark.Duplicated | StepMark.Late, '\x1b[36m'],
];
