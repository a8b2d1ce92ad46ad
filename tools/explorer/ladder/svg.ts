/**
 * A ladder as one SVG file, for documents: needs no style sheet, reads well on light and dark ground.
 *
 * Owns the SVG markup and the colours of such a file. Pure: rows in, text out.
 */
import { type LadderShape, type LaidRow, layoutLadder, ROW_HEIGHT, railsOf } from './layout.ts';
import { type LadderPacket, ladderRows } from './rows.ts';

/** What is written around the ladder. */
export interface LadderSvgOptions {
  /** Headings of the two rails. */
  readonly left: string;
  readonly right: string;
  /** Default 760. */
  readonly width?: number;
  /** What counts as time 0; default the first packet. */
  readonly originNs?: number;
  /** Pauses from here on have a line of their own; default: far longer than usual. */
  readonly silenceNs?: number;
  /** The alternative text of the picture. */
  readonly title?: string;
}

/** The packets of one conversation, in order of time, as a picture. */
export function ladderSvg(packets: readonly LadderPacket[], options: LadderSvgOptions): string {
  const width = options.width ?? DEFAULT_WIDTH;
  const rows = ladderRows(packets, options.silenceNs);
  const laid = layoutLadder(rows, { width, originNs: options.originNs ?? packets[0]?.timeNs ?? 0 });
  const height = HEADING + laid.length * ROW_HEIGHT + FOOT;
  const { left, right } = railsOf(width);
  const rails = [left, right].map(
    (x) => `<line class="rail" x1="${x}" y1="${HEADING - 8}" x2="${x}" y2="${height - 4}"/>`,
  );
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(options.title ?? `Packets between ${options.left} and ${options.right}`)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="time" x="${left - 10}" y="20" text-anchor="end">us</text>`,
    `<text class="heading" x="${left}" y="20">${escaped(options.left)}</text>`,
    `<text class="heading" x="${right}" y="20" text-anchor="end">${escaped(options.right)}</text>`,
    ...rails,
    `<g transform="translate(0 ${HEADING})">`,
    ...laid.flatMap(rowSvg),
    '</g>',
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function rowSvg({ shapes }: LaidRow): string[] {
  return shapes.map(shapeSvg);
}

function shapeSvg(shape: LadderShape): string {
  switch (shape.kind) {
    case 'line':
      return `<line class="${shape.class}" x1="${round(shape.x1)}" y1="${round(shape.y1)}" x2="${round(shape.x2)}" y2="${round(shape.y2)}"/>`;
    case 'path':
      return `<path class="${shape.class}" d="${shape.d}"/>`;
    case 'text':
      return `<text class="${shape.class}" x="${round(shape.x)}" y="${round(shape.y)}" text-anchor="${shape.anchor}">${escaped(shape.text)}</text>`;
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

const DEFAULT_WIDTH = 760;
const HEADING = 36;
const FOOT = 10;
/** Colours that keep their distance from white and from black; the ground is that of the reader's system. */
const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#1a1c20;white-space:pre}.heading{font-weight:600}.time,.silence{fill:#5a616c}.note{font-style:italic}',
  '.ground{fill:#fff}.rail,.break{stroke:#9aa2ae}.arrow,.cross{fill:none;stroke-width:1.5}.cross{stroke-width:2}',
  '.request{stroke:#0b5cad}.response{stroke:#1b7a3d}.ack{stroke:#5a616c}.nak,.bad{stroke:#b3261e}.again{stroke:#b36b00;stroke-dasharray:6 3}.notice{stroke:#6a3fb5}',
  '.head{stroke:none}.head.request{fill:#0b5cad}.head.response{fill:#1b7a3d}.head.ack{fill:#5a616c}.head.nak,.head.bad{fill:#b3261e}.head.again{fill:#b36b00}.head.notice{fill:#6a3fb5}',
  'text.words{stroke:none}text.nak,text.bad{fill:#b3261e}text.again{fill:#8a5300}',
  '@media (prefers-color-scheme:dark){.ground{fill:#16181c}text{fill:#e4e6ea}.time,.silence{fill:#9aa2ae}text.nak,text.bad{fill:#ff8a80}text.again{fill:#f0b35a}',
  '.request{stroke:#7db7f5}.response{stroke:#7fd39a}.ack{stroke:#9aa2ae}.nak,.bad{stroke:#ff8a80}.again{stroke:#f0b35a}.notice{stroke:#c0a2f5}',
  '.head.request{fill:#7db7f5}.head.response{fill:#7fd39a}.head.ack{fill:#9aa2ae}.head.nak,.head.bad{fill:#ff8a80}.head.again{fill:#f0b35a}.head.notice{fill:#c0a2f5}}',
].join('');
