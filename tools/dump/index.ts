/** The `dump` command and the printing of frames from any source. */

export { dumpCommand } from './command.ts';
export { type DumpOptions, dumpFrames } from './dump.ts';
export { FileSource } from './file-source.ts';
export type { CaptureSource } from './source.ts';
