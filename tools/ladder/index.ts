/**
 * Packet ladders: frames in, lines out. `LadderReader` makes a step of each frame, `drawLadder` draws steps between two columns.
 * Used by `roce demo`; anything that has frames in order of time can use it. Runs in a browser.
 */
export { drawLadder, type LadderLayout } from './draw.ts';
export { LadderReader, type LadderReaderOptions, type SeenFrame } from './reader.ts';
export { type LadderStep, Mark, markName } from './step.ts';
