/** The comparison of captures with tshark, for the command, the interop matrix and the tests. */

export { colonHex, compareFields, isSameValue } from './compare.ts';
export { expectationsFor, type FramePair, type KnownDifference } from './expectation.ts';
export { EXPECTATIONS } from './expectations.ts';
export { FrameDescriber, type OurFrame } from './our-frame.ts';
export { allTsharkFrames, type TsharkFrame, tsharkFrames, valuesOf } from './tshark-frames.ts';
export { compareFrame, type FrameDifference, type VerifySummary, verifyFile, verifyFrames } from './verify.ts';
