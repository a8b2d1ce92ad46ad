/**
 * A ladder that is drawn while frames come: the lines of each step as soon as they are certain, and a heading where the
 * pair of hosts changes.
 *
 * Owns the steps that are held back: of a run of steps that differ only in their PSN the first is drawn at once, and
 * the rest when the run ends or `flush` is called. Memory does not grow. Reads no frames and writes nothing.
 */
import { Drawing, SHORTEST_RUN, sameKind } from './draw.ts';
import type { LadderStep } from './step.ts';

export interface LadderStreamLayout {
  /** Columns in all; default 100, at least 80. */
  readonly width?: number;
  /** Default false. */
  readonly color?: boolean;
  /** What counts as 0 in the column of times, nanoseconds; default 0. */
  readonly originNs?: number;
}

export class LadderStream {
  readonly #layout: LadderStreamLayout;
  #drawing: Drawing | undefined;
  #pair = '';
  #head: LadderStep | undefined;
  /** Steps of the run behind its head: the first, the last but one, the last, and how many there are. */
  #first: LadderStep | undefined;
  #beforeLast: LadderStep | undefined;
  #last: LadderStep | undefined;
  #held = 0;

  constructor(layout: LadderStreamLayout = {}) {
    this.#layout = layout;
  }

  /** One more step between these two hosts; the lines that can be drawn now. */
  push(step: LadderStep, left: string, right: string): string[] {
    const pair = `${left} ${right}`;
    const lines: string[] = [];
    if (this.#drawing === undefined || pair !== this.#pair) {
      lines.push(...this.flush());
      this.#pair = pair;
      this.#drawing = new Drawing(this.#layout.originNs ?? 0, TIME_COLUMNS, { ...this.#layout, left, right });
      lines.push(this.#drawing.heading());
    }
    if (sameKind(this.#head, step)) {
      this.#hold(step);
      return lines;
    }
    lines.push(...this.flush(), this.#drawing.step(step));
    this.#head = step;
    return lines;
  }

  /** A line that belongs to no pair of hosts. */
  note(timeNs: number, text: string): string[] {
    const drawing =
      this.#drawing ?? new Drawing(this.#layout.originNs ?? 0, TIME_COLUMNS, { ...this.#layout, left: '', right: '' });
    return [...this.flush(), drawing.note(timeNs, text)];
  }

  /** What is held back; the next step begins a new run. */
  flush(): string[] {
    const lines = this.#heldLines();
    this.#head = undefined;
    this.#held = 0;
    return lines;
  }

  #hold(step: LadderStep): void {
    if (this.#held === 0) this.#first = step;
    this.#beforeLast = this.#last;
    this.#last = step;
    this.#held++;
  }

  #heldLines(): string[] {
    const [drawing, first, beforeLast, last] = [this.#drawing, this.#first, this.#beforeLast, this.#last];
    if (this.#held === 0 || drawing === undefined || first === undefined || last === undefined) return [];
    if (this.#held === 1 || beforeLast === undefined) return [drawing.step(last)];
    // With its head a run of three is drawn in full: a line that says "1 more" saves nothing.
    if (this.#held + 1 < SHORTEST_RUN) return [drawing.step(first), drawing.step(last)];
    return [drawing.runOf(first, beforeLast, this.#held - 1), drawing.step(last)];
  }
}

/** Enough for eleven days in microseconds with three decimals. */
const TIME_COLUMNS = 14;
