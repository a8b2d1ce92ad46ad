/**
 * The pure parts of a lossless switch: its memory, pauses, credits, and what is computed about them.
 *
 * Owns the list of exports to other folders.
 */
export { defaultPfcShift, type HeadroomLink, losslessHeadroomBytes, modelHeadroomBytes } from './headroom.ts';
export { CREDIT_BLOCK_BYTES, creditBlocks, LinkCredits } from './link-credits.ts';
export { findPauseCycle, type PauseWait } from './pause-cycle.ts';
export { PauseState } from './pause-state.ts';
export { SharedBuffer, type SharedBufferCounters, type SharedBufferOptions } from './shared-buffer.ts';
