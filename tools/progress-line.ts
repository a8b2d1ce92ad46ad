/**
 * How far a long command is, on one line of a terminal that is written over; elsewhere, where the command asks for it,
 * on a line of its own now and then. Owns these lines. Of our own: of the packages that draw bars the kept ones have no
 * types or need a later Node, and this is all of it.
 */

/** Where the line goes: standard error, or a test. */
export interface ProgressTerminal {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** Writes nothing. */
  readonly quiet: boolean;
  readonly nowMs: () => number;
  /** Where it is no terminal: who says so, and the least time between two lines. Default: nobody says anything. */
  readonly lines?: { readonly name: string; readonly everyMs: number } | undefined;
}

export class ProgressLine {
  readonly #terminal: ProgressTerminal;
  readonly #startMs: number;
  readonly #nowMs: () => number;
  readonly #on: boolean;
  readonly #lines: ProgressOptions['lines'];
  #drawn = '';
  #lineMs: number;

  constructor(terminal: ProgressTerminal, { quiet, nowMs, lines }: ProgressOptions) {
    this.#terminal = terminal;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#lineMs = this.#startMs;
    this.#on = terminal.isTTY === true && !quiet;
    this.#lines = this.#on || quiet ? undefined : lines;
  }

  /** Part of everything, 0 to 1, and how far that is in the words of the command. */
  update(share: number, words = ''): void {
    if (this.#lines !== undefined) this.#line(this.#lines, share, words);
    if (!this.#on) return;
    const done = Math.round(share * BAR_WIDTH);
    const bar = '#'.repeat(done) + '.'.repeat(BAR_WIDTH - done);
    const text = `[${bar}] ${this.#state(share, words)}`.slice(0, (this.#terminal.columns || 80) - 1);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#terminal.write(`\r${text}${ERASE_REST}`);
  }

  /** Takes the line away, so that what follows stands alone. */
  clear(): void {
    if (this.#drawn !== '') this.#terminal.write(`\r${ERASE_REST}`);
    this.#drawn = '';
  }

  #line({ name, everyMs }: { readonly name: string; readonly everyMs: number }, share: number, words: string): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#lineMs < everyMs) return;
    this.#lineMs = nowMs;
    this.#terminal.write(`${name}: ${this.#state(share, words)}\n`);
  }

  #state(share: number, words: string): string {
    const detail = words === '' ? '' : ` ${words},`;
    return `${Math.floor(share * 100)} %,${detail} ${this.#rest(share)}`;
  }

  #rest(share: number): string {
    const seconds = (this.#nowMs() - this.#startMs) / 1000;
    if (share < 0.02 || seconds < 2) return `${Math.round(seconds)} s`;
    return `${Math.round(seconds)} s, about ${Math.round((seconds * (1 - share)) / share)} s left`;
  }
}

const BAR_WIDTH = 24;
const ERASE_REST = '\u001b[K';
