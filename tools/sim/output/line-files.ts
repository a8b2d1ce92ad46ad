/** Files that lines are added to as they come, each line whole: what was written is good, whatever ends the program. */
import { closeSync, openSync, writeSync } from 'node:fs';

export class LineFiles {
  readonly #files: readonly number[];

  /** Empties them. @throws what the system says of a file that cannot be written */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => openSync(path, 'w'));
  }

  line(text: string): void {
    for (const file of this.#files) writeSync(file, `${text}\n`);
  }

  close(): void {
    for (const file of this.#files) closeSync(file);
  }
}
