/**
 * How much text of a capture file is kept for as long as the file is read: names, descriptions and comments of sections and interfaces.
 *
 * Owns the bound, so that a file which describes interfaces without end does not fill the memory. Comments on packets go with their
 * packets and are not counted here.
 */

/** Counts down what was kept. */
export class TextBudget {
  private left = MOST_TEXT_CHARACTERS;

  /** `text` while there is room, and '' from then on. */
  keep(text: string): string {
    const cost = text.length + TEXT_OVERHEAD;
    if (cost > this.left) return '';
    this.left -= cost;
    return text;
  }

  /** Whether there is room for another text of this length. */
  get exhausted(): boolean {
    return this.left < TEXT_OVERHEAD;
  }
}

const MOST_TEXT_CHARACTERS = 8 * 1024 * 1024;
/** What a string costs beside its characters: a hundred thousand empty comments are not for nothing. */
const TEXT_OVERHEAD = 32;
