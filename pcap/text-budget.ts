/**
 * The bound for texts of a capture file that are kept while it is read: names, descriptions and comments of sections
 * and interfaces.
 *
 * Owns the bound, so that a file with endless interface descriptions does not fill the memory. Comments on packets
 * belong to their packets and are not counted here.
 */

/** Counts down what was kept. */
export class TextBudget {
  private left = MOST_TEXT_CHARACTERS;

  /** Whether there is room for `text`, which then is taken. */
  take(text: string): boolean {
    const cost = text.length + TEXT_OVERHEAD;
    if (cost > this.left) return false;
    this.left -= cost;
    return true;
  }

  /** `text` where there is room for it, otherwise ''. */
  keep(text: string): string {
    return this.take(text) ? text : '';
  }

  /** Gives back the room of a text that was taken and is kept no longer. */
  release(text: string): void {
    this.left += text.length + TEXT_OVERHEAD;
  }
}

const MOST_TEXT_CHARACTERS = 8 * 1024 * 1024;
/** What a string costs beside its characters: a hundred thousand empty comments are not for nothing. */
const TEXT_OVERHEAD = 32;
