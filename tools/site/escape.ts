/** Text within HTML. */

/** Plain text as HTML, in elements and in attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
