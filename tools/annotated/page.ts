/**
 * An annotated connection: the packets of a capture, byte by byte, each field with its value, its meaning and the
 * source of its rule. One page of HTML that loads nothing. Owns its layout; fields and words are the field map's.
 */
import { Frame, type MappedField, type MappedHeader, Medium, mapFrame, parseFrame } from 'rocev2/packets';
import type { CapturedPacket } from 'rocev2/pcap';
import { tellingOf } from './story.ts';
import { SCRIPT, STYLE } from './style.ts';

export interface AnnotatedOptions {
  readonly title: string;
  /** Paragraphs, plain text. */
  readonly introduction: readonly string[];
  /** Names of the hosts by MAC address, as `52:54:00:00:00:01`. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Where a section of a page of docs/reference is, seen from this page. @param page its name, without ending */
  readonly reference: (page: string, section: string) => string;
  /** Where the page belongs to, if it belongs to others. */
  readonly home?: { readonly name: string; readonly href: string };
}

/** The page. */
export function annotatedPage(packets: readonly CapturedPacket[], options: AnnotatedOptions): string {
  const { title, introduction, hosts, home } = options;
  const sections = packets.map((packet, at) => sectionOf(packet, at + 1, packets[0] ?? packet, options));
  const contents = sections.map(({ heading }, at) => `<li><a href="#p${at + 1}">${heading}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
${home === undefined ? '' : `<header><nav aria-label="Site"><a href="${escaped(home.href)}">${escaped(home.name)}</a></nav></header>\n`}<main>
<h1>${escaped(title)}</h1>
${introduction.map((text) => `<p>${escaped(text)}</p>`).join('\n')}
<p>${[...hosts].map(([mac, name]) => `<b>${escaped(name)}</b>: ${mac}`).join(', ')}.</p>
<nav aria-label="Packets"><ol>${contents.join('')}</ol></nav>
${sections.map(({ html }) => html).join('\n')}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function sectionOf(packet: CapturedPacket, number: number, first: CapturedPacket, options: AnnotatedOptions) {
  const { bytes } = packet;
  const headers = mapOf(bytes);
  const [to, from] = [nameOf(bytes, 0, options), nameOf(bytes, 6, options)];
  const { title, text } = tellingOf(from, to, headers);
  const us = (packet.seconds - first.seconds) * 1e6 + (packet.nanoseconds - first.nanoseconds) / 1000;
  const heading = escaped(title);
  const html = `<section id="p${number}" aria-labelledby="h${number}">
<h2 id="h${number}">${number}. ${heading}</h2>
<p class="quiet">${escaped(from)} to ${escaped(to)}, ${us.toFixed(0)} us after the first packet, ${bytes.length} bytes</p>
<p>${escaped(text)}</p>
<div class="frame">
${headers.map((header, at) => headerHtml(bytes, header, `p${number}h${at}`, options)).join('\n')}
</div>
</section>`;
  return { heading, html };
}

function mapOf(bytes: Uint8Array): readonly MappedHeader[] {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
  return mapFrame(frame, status);
}

/** A header: its bytes on the left, its fields on the right. What only carries RoCE is folded. */
function headerHtml(bytes: Uint8Array, header: MappedHeader, id: string, { reference }: AnnotatedOptions): string {
  const { name, title, byteOffset, byteLength, fields } = header;
  const ids = fields.map((_, at) => `${id}f${at}`);
  const spans = Array.from({ length: byteLength }, (_, at) => {
    const bit = (byteOffset + at) * 8;
    const owners = ids.filter((_id, index) => covers(fields[index], bit));
    const hex = (bytes[byteOffset + at] ?? 0).toString(16).padStart(2, '0');
    return `<span data-f="${owners.join(' ')}">${hex}</span>`;
  });
  const open = OUTER.has(name) ? '' : ' open';
  return `<details${open}>
<summary><b>${escaped(name)}</b> ${escaped(title === name ? '' : title)} <span class="quiet">bytes ${byteOffset} to ${byteOffset + byteLength - 1}</span></summary>
<div class="header">
<p class="bytes" aria-label="Bytes of ${escaped(name)}">${spans.join(' ')}</p>
<dl>
${fields.map((field, at) => fieldHtml(field, ids[at] ?? '', reference)).join('\n')}
</dl>
</div>
</details>`;
}

function fieldHtml({ name, bits, shown, meaning, rule }: MappedField, id: string, reference: Reference): string {
  const size =
    bits % 8 === 0 ? `${bits / 8} ${bits === 8 ? 'byte' : 'bytes'}` : `${bits} ${bits === 1 ? 'bit' : 'bits'}`;
  const source = rule === '' ? '' : ` <span class="quiet">${ruleHtml(rule, reference)}</span>`;
  return `<div id="${id}"><dt><code>${escaped(name)}</code> <span class="quiet">${size}</span></dt>
<dd><code class="value">${escaped(shown)}</code> ${escaped(meaning)}${source}</dd></div>`;
}

/** Our reference pages as links, everything else as it stands. */
function ruleHtml(rule: string, reference: Reference): string {
  return escaped(rule).replace(
    /ref:(\w+)#([\w-]+)/g,
    (text, page, section) => `<a href="${escaped(reference(page, section))}">${text.slice(4)}</a>`,
  );
}

/** Whether any bit of the byte that begins at `bit` is the field's. */
function covers(field: MappedField | undefined, bit: number): boolean {
  return field !== undefined && field.bitOffset < bit + 8 && field.bitOffset + field.bits > bit;
}

function nameOf(bytes: Uint8Array, at: number, { hosts }: AnnotatedOptions): string {
  const mac = Array.from(bytes.subarray(at, at + 6), (byte) => byte.toString(16).padStart(2, '0')).join(':');
  return hosts.get(mac) ?? mac;
}

type Reference = AnnotatedOptions['reference'];

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const OUTER: ReadonlySet<string> = new Set(['Ethernet', 'IPv4', 'IPv6', 'UDP']);
