/**
 * How a filter that makes no sense is reported: where, what was expected, and what may have been meant.
 */
import { RoceError } from '../../packets/errors.ts';

/**
 * ERR_ROCE_ARGUMENT with the place in the text.
 *
 * @example
 * ```ts
 * import { compileFilter, FilterError } from 'rocev2/pcap/filter';
 *
 * try {
 *   compileFilter('retransmision and psn > 5');
 * } catch (error) {
 *   if (!(error instanceof FilterError)) throw error;
 *   console.log(error.column, error.suggestions[0]); // 1 retransmission
 * }
 * ```
 */
export class FilterError extends RoceError {
  /** Where it is, counted from 1 in UTF-16 units, as editors count. */
  readonly column: number;
  /** Length of what is wrong; 0 at the end of the text. */
  readonly length: number;
  /** What may have been meant, best first; each can be put in the place of what is wrong. */
  readonly suggestions: readonly string[];

  /** `sentence` without a full stop; the message adds the column and the suggestions. */
  constructor(column: number, length: number, sentence: string, suggestions: readonly string[] = []) {
    const hint =
      suggestions.length === 0 ? '' : `; did you mean ${suggestions.map((word) => `'${word}'`).join(' or ')}?`;
    super('ERR_ROCE_ARGUMENT', `filter, column ${column}: ${sentence}${hint}`);
    this.column = column;
    this.length = length;
    this.suggestions = suggestions;
  }
}
