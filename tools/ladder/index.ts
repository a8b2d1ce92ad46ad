/**
 * Packet ladders: frames in, lines out. `LadderReader` makes a step of each frame, `drawLadder` draws steps between two
 * columns, `LadderStream` draws while they come. Used by `roce demo` and `roce dump`; usable with any frames in order
 * of time. Runs in a browser.
 */
export { drawLadder, type LadderLayout } from './draw.ts';
export { type LadderFrame, type LadderFrameInfo, LadderReader, type LadderReaderOptions } from './reader.ts';
export { type LadderStep, markName, StepMark } from './step.ts';
export { LadderStream, type LadderStreamLayout } from './stream.ts';
