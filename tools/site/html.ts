/**
 * What a crawler wants of a page: the names of its places, and what it refers to. Owns the reading of HTML, SVG and CSS
 * as they are written here: well formed, attributes in quotes or bare.
 */

export interface Page {
  readonly ids: ReadonlySet<string>;
  readonly references: readonly {
    /** As written, with character references resolved. */
    readonly target: string;
    /** The browser fetches it by itself. */
    readonly loads: boolean;
  }[];
  /** What is wrong with the page itself. */
  readonly faults: readonly string[];
}

/** @param file its name, which says what it is */
export function readPage(file: string, text: string): Page {
  if (file.endsWith('.css')) return { ids: new Set(), references: inStyle(text), faults: [] };
  const ids = new Set<string>();
  const references: { target: string; loads: boolean }[] = [];
  const faults: string[] = [];
  const body = text
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/(<(script|style)\b[^>]*>)([\s\S]*?)<\/\2>/gi, (_, open, name, content) => {
      if (name.toLowerCase() === 'style') references.push(...inStyle(content));
      return open;
    });
  const isHtml = file.endsWith('.html');
  for (const [, element = '', rest = ''] of body.matchAll(
    /<([a-z][\w-]*)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*\/?>/gi,
  )) {
    if (isHtml && !isElement(element)) faults.push(`<${element}>: there is no such element`);
    for (const [name, value] of attributesOf(rest)) {
      if (name === 'id' || (name === 'name' && element === 'a')) {
        if (name === 'id' && ids.has(value)) faults.push(`#${value}: more than one place has this name`);
        ids.add(value);
      } else if (name === 'style') references.push(...inStyle(value));
      else if (name === 'srcset')
        for (const part of value.split(',')) references.push({ target: part.trim().split(/\s/)[0] ?? '', loads: true });
      else if (REFERRING.has(name)) references.push({ target: value, loads: loads(element) });
    }
  }
  return { ids, references, faults };
}

function* attributesOf(text: string): Generator<[string, string]> {
  for (const [, name = '', quoted, single, bare] of text.matchAll(
    /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g,
  ))
    yield [name.toLowerCase(), unescaped(quoted ?? single ?? bare ?? '')];
}

function inStyle(text: string): { target: string; loads: boolean }[] {
  const found = [
    ...text.matchAll(/url\(\s*["']?([^"')]+)["']?\s*\)/g),
    ...text.matchAll(/@import\s+["']([^"']+)["']/g),
  ];
  return found.map(([, target = '']) => ({ target, loads: true }));
}

/** Whether the browser fetches it without being asked. */
function loads(element: string): boolean {
  return !['a', 'area', 'blockquote', 'q'].includes(element.toLowerCase());
}

function isElement(name: string): boolean {
  return ELEMENTS.has(name.toLowerCase());
}

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
  });
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const REFERRING: ReadonlySet<string> = new Set([
  'href',
  'src',
  'xlink:href',
  'poster',
  'action',
  'data',
  'cite',
  'formaction',
  'background',
]);
/** Those of HTML, and of SVG within it. */
const ELEMENTS: ReadonlySet<string> = new Set(
  `html head title base link meta style script noscript body main header footer nav section article aside address hgroup search
h1 h2 h3 h4 h5 h6 p hr pre blockquote ol ul menu li dl dt dd figure figcaption div a em strong small s cite q dfn abbr ruby rt rp
data time code var samp kbd sub sup i b u mark bdi bdo span br wbr ins del picture source img iframe embed object video audio
track map area table caption colgroup col tbody thead tfoot tr td th form label input button select datalist optgroup option
textarea output progress meter fieldset legend details summary dialog template slot canvas
svg g path rect circle ellipse line polyline polygon text tspan defs use symbol marker lineargradient stop clippath mask pattern`.split(
    /\s+/,
  ),
);
