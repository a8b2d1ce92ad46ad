/**
 * The lines of a ladder that is true to time: placed rows in, shapes out.
 *
 * Owns the slopes: an arrow begins at its sender as long before the capture saw it as the way there takes, and ends at
 * the receiver as long after. Where that is not known it is level. Pure: no DOM. Runs in a browser.
 */
import { Mark } from 'rocev2/pcap';
import { durationOf, type LadderShape, type LaidRow, type railsOf } from './layout.ts';
import { type LadderRow, lettersOf, toneOf, wordsOf } from './rows.ts';

/** A row, and where it came past the capture. */
export interface PlacedRow {
  /** Which line of the ladder it is. */
  readonly line: number;
  readonly row: LadderRow;
  /** Pixels from the top of the ladder. */
  readonly place: number;
  /** There is room for its words, and for its time. */
  readonly worded: boolean;
  readonly timed: boolean;
}

/** How a ladder is drawn. */
export interface TimeRoom {
  readonly rails: ReturnType<typeof railsOf>;
  /** On the way between the capture and each end; NaN: not known. */
  readonly transitNs: readonly [number, number];
  readonly pixelsPerNs: number;
  /** A time as it is written at the left. */
  readonly clock: (timeNs: number) => string;
}

/** Lays out rows; `top` of each is where it came past the capture. */
export function layoutTimeLadder(rows: readonly PlacedRow[], room: TimeRoom): LaidRow[] {
  return rows.map((placed) => layoutPlaced(placed, room));
}

function layoutPlaced(placed: PlacedRow, room: TimeRoom): LaidRow {
  switch (placed.row.kind) {
    case 'packet':
    case 'lost':
      return layoutArrow(placed, placed.row, room);
    case 'note':
      return layoutNote(placed, placed.row, room);
    case 'silence':
      return layoutFold(placed, placed.row, room);
  }
}

/** Where between the rails the capture was taken; undefined where that is not known. */
export function captureAt({ rails, transitNs: [toLeft, toRight] }: TimeRoom): number | undefined {
  const all = toLeft + toRight;
  if (Number.isNaN(all) || all === 0) return undefined;
  return rails.left + ((rails.right - rails.left) * toLeft) / all;
}

type ArrowRow = Extract<LadderRow, { kind: 'packet' | 'lost' }>;

function layoutArrow({ place, worded, timed }: PlacedRow, row: ArrowRow, room: TimeRoom): LaidRow {
  const { left, right } = room.rails;
  const packet = row.kind === 'packet' ? row.packet : undefined;
  const sender = row.kind === 'packet' ? row.packet.sender : row.sender;
  const tone = packet === undefined ? 'bad' : toneOf(packet);
  const words = row.kind === 'packet' ? wordsOf(row.packet) : lostWords(row);
  const letters = packet === undefined ? '✗' : lettersOf(packet);
  const stopped = packet === undefined || packet.lost === true || (packet.marks & Mark.BadIcrc) !== 0;
  const [from, to] = sender === 0 ? [left, right] : [right, left];
  const y1 = place - pixels(room.transitNs[sender], room);
  const y2 = place + pixels(room.transitNs[sender === 0 ? 1 : 0], room);
  const reach = stopped ? STOPPED_AT : 1;
  const [x, y] = [from + (to - from) * reach, y1 + (y2 - y1) * reach];
  const shapes: LadderShape[] = [
    { kind: 'line', x1: from, y1, x2: x, y2: y, class: 'arrow-reach' },
    { kind: 'line', x1: from, y1, x2: x, y2: y, class: `arrow ${tone}` },
    stopped ? cross(x, y, tone) : head(x, y, from, y1, tone),
  ];
  if (worded) {
    const turn = (Math.atan2(y2 - y1, right - left) * 180) / Math.PI;
    const inset = sender === 0 ? INSET : -INSET;
    const most = Math.floor((right - left - 2 * INSET) / LETTER_WIDTH);
    const marked = letters === '' ? words : `${letters}  ${words}`;
    shapes.push({
      kind: 'text',
      x: from + inset,
      y: y1 + (y2 - y1) * (INSET / (right - left)) - 3,
      text: marked.length <= most ? marked : `${marked.slice(0, Math.max(1, most - 1))}…`,
      anchor: sender === 0 ? 'start' : 'end',
      class: `words ${tone}`,
      turn: sender === 0 ? turn : -turn,
    });
  }
  const time = packet === undefined ? '' : room.clock(packet.timeNs);
  if (timed && time !== '') shapes.push(timeText(place, time, left));
  const way = sender === 0 ? 'left to right' : 'right to left';
  const marks = packet === undefined || letters === '' ? '' : `, ${letters}`;
  const text = packet === undefined ? words : `Packet ${packet.number} at ${time}, ${way}: ${words}${marks}`;
  return { number: packet?.number ?? 0, top: place, shapes, text };
}

function layoutNote(
  { place, worded, timed }: PlacedRow,
  row: Extract<LadderRow, { kind: 'note' }>,
  room: TimeRoom,
): LaidRow {
  const { left, right } = room.rails;
  const { side, text, timeNs } = row.note;
  const x = side === 0 ? left : right;
  const time = room.clock(timeNs);
  const shapes: LadderShape[] = [
    {
      kind: 'path',
      d: `M${x} ${place - 4}L${x + 4} ${place}L${x} ${place + 4}L${x - 4} ${place}Z`,
      class: 'head notice',
    },
  ];
  if (worded) {
    const inset = side === 0 ? INSET : -INSET;
    const anchor = side === 0 ? 'start' : 'end';
    shapes.push({ kind: 'text', x: x + inset, y: place + 4, text, anchor, class: 'note' });
  }
  if (timed) shapes.push(timeText(place, time, left));
  return { number: 0, top: place, shapes, text: `At ${time}, ${side === 0 ? 'left' : 'right'}: ${text}` };
}

/** A pause that is not drawn in full: its place is the middle of what stands for it. */
function layoutFold({ place }: PlacedRow, row: Extract<LadderRow, { kind: 'silence' }>, room: TimeRoom): LaidRow {
  const { left, right } = room.rails;
  const words = `${durationOf(row.durationNs)} ${row.timeout ? 'until the timeout' : 'of silence'}, folded`;
  const [top, bottom] = [place - FOLD_HIGH / 2, place + FOLD_HIGH / 2];
  const wave = (y: number): string => {
    const steps = Math.max(2, Math.round((right - left) / 16));
    const step = (right - left) / steps;
    return Array.from(
      { length: steps },
      (_, at) => `${at === 0 ? `M${left} ${y}` : ''}l${step / 2} -3l${step / 2} 3`,
    ).join('');
  };
  return {
    number: 0,
    top: place,
    shapes: [
      { kind: 'path', d: `M${left} ${top}H${right}V${bottom}H${left}Z`, class: 'fold' },
      { kind: 'path', d: `${wave(top)}${wave(bottom)}`, class: 'break fold-edge' },
      { kind: 'text', x: (left + right) / 2, y: place + 4, text: words, anchor: 'middle', class: 'silence' },
    ],
    text: words,
  };
}

function pixels(transitNs: number, { pixelsPerNs }: TimeRoom): number {
  return Number.isNaN(transitNs) ? 0 : transitNs * pixelsPerNs;
}

function lostWords({ psn, count }: Extract<LadderRow, { kind: 'lost' }>): string {
  return count === 1 ? `lost  psn ${psn}` : `${count} lost  psn ${psn} to ${psn + count - 1}`;
}

function timeText(place: number, text: string, left: number): LadderShape {
  return { kind: 'text', x: left - 10, y: place + 4, text, anchor: 'end', class: 'time' };
}

function cross(x: number, y: number, tone: string): LadderShape {
  const d = `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`;
  return { kind: 'path', d, class: `cross ${tone}` };
}

/** Along the arrow, however steep it is. */
function head(x: number, y: number, fromX: number, fromY: number, tone: string): LadderShape {
  const long = Math.hypot(x - fromX, y - fromY) || 1;
  const [dx, dy] = [(x - fromX) / long, (y - fromY) / long];
  const [backX, backY] = [x - HEAD * dx, y - HEAD * dy];
  const corner = (side: number): string => `${round(backX - side * 3.5 * dy)} ${round(backY + side * 3.5 * dx)}`;
  return { kind: 'path', d: `M${round(x)} ${round(y)}L${corner(1)}L${corner(-1)}Z`, class: `head ${tone}` };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const STOPPED_AT = 0.62;
const INSET = 14;
const HEAD = 8;
const LETTER_WIDTH = 6.6;
const FOLD_HIGH = 28;
