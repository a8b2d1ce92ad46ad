/**
 * How far a long command is, on one line of a terminal that is written over. Owns that line; writes nothing where it is
 * no terminal. Of our own: of the packages that draw bars the kept ones have no types or need a later Node, and this is
 * all of it.
 */

/** Where the line goes: standard error, or a test. */
export interface ProgressTerminal {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export class ProgressLine {
  readonly #terminal: ProgressTerminal;
  readonly #startMs: number;
  readonly #nowMs: () => number;
  readonly #on: boolean;
  #drawn = '';

  constructor(terminal: ProgressTerminal, { quiet, nowMs }: { quiet: boolean; nowMs: () => number }) {
    this.#terminal = terminal;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#on = terminal.isTTY === true && !quiet;
  }

  /** Part of everything, 0 to 1, and how far that is in the words of the command. */
  update(share: number, words = ''): void {
    if (!this.#on) return;
    const done = Math.round(share * BAR_WIDTH);
    const bar = '#'.repeat(done) + '.'.repeat(BAR_WIDTH - done);
    const detail = words === '' ? '' : ` ${words},`;
    const text = `[${bar}] ${Math.floor(share * 100)} %,${detail} ${this.#rest(share)}`.slice(
      0,
      (this.#terminal.columns || 80) - 1,
    );
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#terminal.write(`\r${text}${ERASE_REST}`);
  }

  /** Takes the line away, so that what follows stands alone. */
  clear(): void {
    if (this.#drawn !== '') this.#terminal.write(`\r${ERASE_REST}`);
    this.#drawn = '';
  }

  #rest(share: number): string {
    const seconds = (this.#nowMs() - this.#startMs) / 1000;
    if (share < 0.02 || seconds < 2) return `${Math.round(seconds)} s`;
    return `${Math.round(seconds)} s, about ${Math.round((seconds * (1 - share)) / share)} s left`;
  }
}

const BAR_WIDTH = 24;
const ERASE_REST = '\u001b[K';
