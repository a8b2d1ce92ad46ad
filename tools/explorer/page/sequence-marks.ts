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

interface Kind {
  readonly kind: number;
  readonly name: string;
  readonly tone: 'accent' | 'bad' | 'odd' | 'good' | 'quiet';
  /** In the legend. */
  readonly letter: string;
  readonly shape: (pen: Path2D, x: number, top: number, bottom: number) => void;
}

/** All kinds, in the order in which they are drawn: what is rare lies on top. */
export const LEGEND: readonly Kind[] = [
  { kind: PointKind.Request, name: 'request', tone: 'accent', letter: '|', shape: bar },
  { kind: PointKind.Response, name: 'READ response', tone: 'good', letter: '▪', shape: square },
  { kind: PointKind.Ack, name: 'ACK, and the line of ACKs', tone: 'quiet', letter: '—', shape: dash },
  { kind: PointKind.ResponseAgain, name: 'response sent again', tone: 'odd', letter: '▽', shape: triangleDown },
  { kind: PointKind.RequestAgain, name: 'request sent again', tone: 'odd', letter: '△', shape: triangleUp },
  { kind: PointKind.Lost, name: 'lost', tone: 'bad', letter: '┆', shape: dottedBar },
  { kind: PointKind.RnrNak, name: 'receiver not ready', tone: 'bad', letter: '◇', shape: diamond },
  { kind: PointKind.Nak, name: 'NAK', tone: 'bad', letter: '✗', shape: cross },
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
  for (const { kind, tone, shape } of LEGEND) {
    const pen = new Path2D();
    for (let at = 0; at < picture.kind.length; at++) {
      if (picture.kind[at] !== kind) continue;
      const psn = picture.psn[at] ?? 0;
      shape(pen, place.x(picture.timeNs[at] ?? 0), place.y(psn + (picture.count[at] ?? 1)), place.y(psn));
    }
    ctx.strokeStyle = palette(tone);
    ctx.stroke(pen);
  }
  const chosen = picture.number.indexOf(selected);
  if (chosen >= 0) ring(ctx, place.x(picture.timeNs[chosen] ?? 0), place.y(picture.psn[chosen] ?? 0), palette('text'));
  ctx.restore();
}

/** Number of the packet at a place of the plotting area, in CSS pixels; 0 when none is near. */
export function nearestPoint(plot: uPlot, picture: SequencePicture, left: number, top: number): number {
  const place = placeOf(plot);
  const x = left * devicePixelRatio + plot.bbox.left;
  const y = top * devicePixelRatio + plot.bbox.top;
  let [best, number] = [(NEAR * devicePixelRatio) ** 2, 0];
  for (let at = 0; at < picture.kind.length; at++) {
    const dx = place.x(picture.timeNs[at] ?? 0) - x;
    const psn = picture.psn[at] ?? 0;
    const [high, low] = [place.y(psn + (picture.count[at] ?? 1)), place.y(psn)];
    const dy = y < high ? high - y : y > low ? y - low : 0;
    const distance = dx * dx + dy * dy;
    if (distance >= best) continue;
    best = distance;
    number = picture.number[at] ?? 0;
  }
  return number;
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
