/**
 * The marks of the sequence graph on a canvas: a shape of its own for each kind, so that they can be told apart without
 * colours.
 *
 * Owns the shapes and which one is under the mouse.
 */
import type uPlot from 'uplot';
import type { SequencePicture } from '../engine/protocol.ts';
import { PointKind } from '../engine/sequence.ts';
import type { Palette } from './chart.tsx';
import { count, span } from './words.ts';

interface Kind {
  readonly kind: number;
  readonly name: string;
  readonly tone: 'accent' | 'bad' | 'odd' | 'good' | 'quiet';
  /** In the legend. */
  readonly letter: string;
  /** Several of them are drawn as a bar as high as all, and not as a mark with their number. */
  readonly joins: boolean;
  readonly shape: (pen: Path2D, x: number, top: number, bottom: number) => void;
}

/** All kinds, in the order in which they are drawn: what is rare lies on top. */
export const LEGEND: readonly Kind[] = [
  { kind: PointKind.Request, name: 'request', tone: 'accent', letter: '|', joins: true, shape: bar },
  { kind: PointKind.Response, name: 'READ response', tone: 'good', letter: '▪', joins: true, shape: square },
  { kind: PointKind.Ack, name: 'ACK, and the line of ACKs', tone: 'quiet', letter: '—', joins: true, shape: dash },
  {
    kind: PointKind.ResponseAgain,
    name: 'response sent again',
    tone: 'odd',
    letter: '▽',
    joins: false,
    shape: triangleDown,
  },
  {
    kind: PointKind.RequestAgain,
    name: 'request sent again',
    tone: 'odd',
    letter: '△',
    joins: false,
    shape: triangleUp,
  },
  { kind: PointKind.Lost, name: 'lost', tone: 'bad', letter: '┆', joins: false, shape: dottedBar },
  { kind: PointKind.RnrNak, name: 'receiver not ready', tone: 'bad', letter: '◇', joins: false, shape: diamond },
  { kind: PointKind.Nak, name: 'NAK', tone: 'bad', letter: '✗', joins: false, shape: cross },
];

/** Draws all that is in the picture. */
export function drawSequence(plot: uPlot, picture: SequencePicture, selected: number, palette: Palette): void {
  const { ctx } = plot;
  const place = placeOf(plot);
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  drawAckLine(ctx, picture, place, palette('quiet'));
  for (const entry of LEGEND) drawKind(ctx, picture, entry, place, palette);
  const chosen = picture.number.indexOf(selected);
  if (chosen >= 0) ring(ctx, place.x(picture.timeNs[chosen] ?? 0), place.y(picture.psn[chosen] ?? 0), palette('text'));
  ctx.restore();
}

function drawKind(
  ctx: CanvasRenderingContext2D,
  { kind: kinds, psn: psns, count: counts, timeNs, merged }: SequencePicture,
  { kind, tone, shape, joins }: Kind,
  place: ReturnType<typeof placeOf>,
  palette: Palette,
): void {
  const pen = new Path2D();
  const numbers: (readonly [text: string, x: number, y: number])[] = [];
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (let at = 0; at < kinds.length; at++) {
    if (kinds[at] !== kind) continue;
    const psn = psns[at] ?? 0;
    const [x, top, bottom] = [place.x(timeNs[at] ?? 0), place.y(psn + (counts[at] ?? 1)), place.y(psn)];
    const several = merged[at] ?? 1;
    if (several > 1 && joins) bar(pen, x, top, bottom);
    else shape(pen, x, several > 1 ? bottom : top, bottom);
    if (several > 1 && !joins) {
      bar(pen, x, top, bottom);
      numbers.push([`${several}`, x + 9 * devicePixelRatio, bottom + 4 * devicePixelRatio]);
    }
  }
  ctx.strokeStyle = palette(tone);
  ctx.stroke(pen);
  // On the ground of the page, whatever lies below.
  ctx.save();
  ctx.strokeStyle = palette('back');
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.fillStyle = palette(tone);
  for (const [text, x, y] of numbers) {
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  }
  ctx.restore();
}

/** What the point under the mouse is, in words; empty where none is near. */
export function wordsAt(plot: uPlot, picture: SequencePicture, left: number, top: number): string {
  const at = pointAt(plot, picture, left, top);
  if (at < 0) return '';
  const several = picture.merged[at] ?? 1;
  const name = LEGEND.find(({ kind }) => kind === picture.kind[at])?.name.replace(/,.*/, '') ?? '';
  const psn = picture.psn[at] ?? 0;
  const last = psn + Math.max(1, picture.count[at] ?? 1) - 1;
  const psns = last > psn ? `PSN ${psn} to ${last}` : `PSN ${psn}`;
  const number = picture.number[at] ?? 0;
  const which = several > 1 ? `${count(several)} × ${name}, from packet ${number}` : `packet ${number}, ${name}`;
  return `${which}, ${psns}, at ${span(Math.round(picture.timeNs[at] ?? 0))}`;
}

/** Number of the packet at a place of the plotting area, in CSS pixels; 0 when none is near. */
export function nearestPoint(plot: uPlot, picture: SequencePicture, left: number, top: number): number {
  return picture.number[pointAt(plot, picture, left, top)] ?? 0;
}

/** Index of the nearest point, -1 when none is near. */
function pointAt(plot: uPlot, picture: SequencePicture, left: number, top: number): number {
  const place = placeOf(plot);
  const x = left * devicePixelRatio + plot.bbox.left;
  const y = top * devicePixelRatio + plot.bbox.top;
  let [best, found] = [(NEAR * devicePixelRatio) ** 2, -1];
  for (let at = 0; at < picture.kind.length; at++) {
    const dx = place.x(picture.timeNs[at] ?? 0) - x;
    const psn = picture.psn[at] ?? 0;
    const [high, low] = [place.y(psn + (picture.count[at] ?? 1)), place.y(psn)];
    const dy = y < high ? high - y : y > low ? y - low : 0;
    const distance = dx * dx + dy * dy;
    // Of those at the same place the last, which lies on top.
    if (distance > best) continue;
    best = distance;
    found = at;
  }
  return found;
}

function placeOf(plot: uPlot): { x: (timeNs: number) => number; y: (psn: number) => number } {
  const { left, top, width, height } = plot.bbox;
  const { min: x0 = 0, max: x1 = 1 } = plot.scales['x'] ?? {};
  const { min: y0 = 0, max: y1 = 1 } = plot.scales['y'] ?? {};
  const across = width / Math.max(1e-9, (x1 ?? 1) - (x0 ?? 0));
  const up = height / Math.max(1e-9, (y1 ?? 1) - (y0 ?? 0));
  return { x: (timeNs) => left + (timeNs - (x0 ?? 0)) * across, y: (psn) => top + height - (psn - (y0 ?? 0)) * up };
}

function drawAckLine(
  ctx: CanvasRenderingContext2D,
  { ackTimeNs, ackPsn, toNs }: SequencePicture,
  place: ReturnType<typeof placeOf>,
  color: string,
): void {
  if (ackTimeNs.length === 0) return;
  const pen = new Path2D();
  pen.moveTo(place.x(ackTimeNs[0] ?? 0), place.y(ackPsn[0] ?? 0));
  for (let at = 1; at < ackTimeNs.length; at++) {
    pen.lineTo(place.x(ackTimeNs[at] ?? 0), place.y(ackPsn[at - 1] ?? 0));
    pen.lineTo(place.x(ackTimeNs[at] ?? 0), place.y(ackPsn[at] ?? 0));
  }
  pen.lineTo(place.x(toNs), place.y(ackPsn.at(-1) ?? 0));
  ctx.strokeStyle = color;
  ctx.stroke(pen);
}

function bar(pen: Path2D, x: number, top: number, bottom: number): void {
  pen.moveTo(x, Math.min(top, bottom - 3));
  pen.lineTo(x, bottom);
}

function dottedBar(pen: Path2D, x: number, top: number, bottom: number): void {
  for (let y = Math.min(top, bottom - 8); y < bottom; y += 5) {
    pen.moveTo(x, y);
    pen.lineTo(x, y + 2);
  }
}

function square(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.rect(x - 1.5, bottom - 1.5, 3, 3);
}

function dash(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.moveTo(x - 3, bottom);
  pen.lineTo(x + 3, bottom);
}

function triangleUp(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.moveTo(x, bottom - 6);
  pen.lineTo(x + 5, bottom + 3);
  pen.lineTo(x - 5, bottom + 3);
  pen.closePath();
}

function triangleDown(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.moveTo(x, bottom + 6);
  pen.lineTo(x + 5, bottom - 3);
  pen.lineTo(x - 5, bottom - 3);
  pen.closePath();
}

function diamond(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.moveTo(x, bottom - 7);
  pen.lineTo(x + 6, bottom);
  pen.lineTo(x, bottom + 7);
  pen.lineTo(x - 6, bottom);
  pen.closePath();
}

function cross(pen: Path2D, x: number, _top: number, bottom: number): void {
  pen.moveTo(x - 6, bottom - 6);
  pen.lineTo(x + 6, bottom + 6);
  pen.moveTo(x - 6, bottom + 6);
  pen.lineTo(x + 6, bottom - 6);
}

function ring(ctx: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  ctx.beginPath();
  ctx.arc(x, y, 9, 0, 2 * Math.PI);
  ctx.strokeStyle = color;
  ctx.stroke();
}

const NEAR = 14;
