/**
 * Text that others wrote (comments and names in captures, bytes of peers, output of commands, file names), harmless for
 * a terminal and for the clipboard. Owns which characters are shown as escapes, and how words are quoted for a shell.
 * Prints nothing: the sinks are `output.ts` and `dump/output.ts`.
 */

/**
 * `text` with every character that a terminal would obey, or not show, as an escape `\uXXXX`: C0 and C1 controls
 * (ESC, OSC, CR, DEL), format characters (direction of text, zero width, byte order mark, tags), line and paragraph
 * separators. Line feeds and tabs stay. JSON stays the same JSON.
 * @param kept what is printed as it is nevertheless, in one capturing group: what this program itself put in
 */
export function visible(text: string, kept?: RegExp): string {
  // Nearly all text is harmless.
  if (text.search(HIDDEN) < 0) return text;
  if (kept === undefined) return text.replaceAll(HIDDEN, escapes);
  return text
    .split(kept)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll(HIDDEN, escapes)))
    .join('');
}

/** `visible` on one line: line feeds and tabs are escapes, too. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/** The colours that this program prints, as `kept` of `visible`. */
export const OWN_COLORS = new RegExp(`(${'\u001b'}\\[(?:0|1|31|33|36|1;33)m)`, 'g');

/**
 * `word` as one word for a POSIX shell, as it stands where that is safe. Words with control or format characters are
 * in the notation $'...' (bash, ksh, zsh, POSIX 2024): pasted as they are, a terminal would take them for keys.
 */
export function shellQuote(word: string): string {
  if (/^[\w./:=@%+,-]+$/.test(word)) return word;
  if (visibleLine(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${visibleLine(word.replaceAll('\\', '\\\\').replaceAll("'", "\\'"))}'`;
}

/** `text` as a block of code in Markdown, whatever backticks are in it; one line feed ends each line. */
export function codeBlock(language: string, text: string): string[] {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return [`${fence}${language}`, visible(text), fence];
}

/** `text` as code in a line, or in a cell of a table, of Markdown. */
export function codeSpan(text: string): string {
  const line = visibleLine(text).replaceAll('|', '\\|');
  const fence = '`'.repeat(longestRun(line) + 1);
  const blank = line.startsWith('`') || line.endsWith('`') || line === '' ? ' ' : '';
  return `${fence}${blank}${line}${blank}${fence}`;
}

/**
 * `text` as words in a line, or in a cell of a table, of Markdown: no HTML, image or link begins in it. What is between
 * two backticks stays code.
 */
export function markdownText(text: string): string {
  const parts = text.replace(/\s*\n\s*/g, ' ').split('`');
  // An even number of backticks, no two of them side by side: each pair is a span.
  const spans = parts.length % 2 === 1 && !text.includes('``');
  if (!spans) return visible(plain(parts.join('`')));
  return visible(parts.map((part, at) => (at % 2 === 1 ? part.replaceAll('|', '\\|') : plain(part))).join('`'));
}

function plain(text: string): string {
  return text.replace(/[\\|<[\]`]/g, (sign) => (sign === '<' ? '&lt;' : `\\${sign}`));
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}

function escapes(text: string): string {
  let escaped = '';
  for (let at = 0; at < text.length; at++) escaped += `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return escaped;
}

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
