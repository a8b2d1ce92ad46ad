/** A text of the repository as a page, whose lines can be linked: `#L10`. Owns its looks. */
import { escaped } from './escape.ts';
import { sourcePath } from './place.ts';
import type { Content } from './template.ts';

/** @param file its path in the repository */
export function sourcePage(file: string, text: string): Content {
  const lines = text.replace(/\n$/, '').split('\n');
  const spans = lines.map((line, at) => `<span id="L${at + 1}">${escaped(line)}</span>`);
  return {
    path: sourcePath(file),
    title: file,
    html: `<h1><code>${escaped(file)}</code></h1>\n<pre class="source" tabindex="0">${spans.join('\n')}</pre>`,
  };
}
