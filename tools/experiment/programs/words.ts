/** Splits a command line into words as a shell does, quotes included and nothing more: no variables, no wildcards. */
import { RoceError } from 'rocev2/packets';

/** @throws RoceError ERR_ROCE_ARGUMENT for a quote that is not closed */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const letter of line) {
    if (quote !== '') {
      if (letter === quote) quote = '';
      else word = (word ?? '') + letter;
    } else if (letter === '"' || letter === "'") {
      quote = letter;
      word ??= '';
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + letter;
  }
  if (quote !== '') throw new RoceError('ERR_ROCE_ARGUMENT', `a quote is not closed: ${line}`);
  if (word !== undefined) words.push(word);
  return words;
}
