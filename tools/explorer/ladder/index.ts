/**
 * Ladder diagrams as pictures: packets to rows, rows to shapes, shapes to SVG. Pure, runs in a browser; `ladderSvg` is
 * all that documents need.
 */
export { type LadderRoom, type LadderShape, type LaidRow, layoutLadder, ROW_HEIGHT, railsOf } from './layout.ts';
export { type LadderPacket, type LadderRow, LETTERS, ladderRows, type Tone } from './rows.ts';
export { type LadderSvgOptions, ladderSvg } from './svg.ts';
export { captureAt, layoutTimeLadder, type PlacedRow, type TimeRoom } from './time-layout.ts';
