/**
 * The pure parts of a lossless switch: its memory, pauses, credits, and what is computed about them.
 *
 * Owns the list of what other rooms may use of this one.
 */
export { defaultPfcShift, type HeadroomLink, losslessHeadroomBytes, modelHeadroomBytes } from './headroom.ts';
export { CREDIT_BLOCK_BYTES, creditBlocks, LinkCredits } from './link-credits.ts';
export { findPauseCycle, type PauseWait } from './pause-cycle.ts';
export { PauseState } from './pause-state.ts';
export { SharedBuffer, type SharedBufferCounters, type SharedBufferOptions } from './shared-buffer.ts';
