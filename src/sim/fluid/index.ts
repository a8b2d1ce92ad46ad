/**
 * rocev2/fluid: DCQCN as equations (ref:dcqcn#5): its fixed point, how fast flows converge, whether it oscillates, and
 * how rates and queue change. The reference for packet simulations. Pure arithmetic: runs anywhere, needs no clock and
 * no randomness.
 *
 * @module rocev2/fluid
 */
export { type ConvergenceBound, convergenceBound } from './convergence.ts';
export {
  type FluidFlow,
  type FluidFlowState,
  type FluidFlowTrace,
  type FluidTrace,
  type IntegrationOptions,
  integrate,
} from './delay-equations.ts';
export { approximateMarking, type FixedPoint, fixedPoint, queueMarking } from './fixed-point.ts';
export {
  additiveIncreasesPerPacket,
  increasesPerPacket,
  type MarkingTerms,
  markedWithin,
  markingExponent,
  markingProbability,
  markingTerms,
  redProbability,
} from './marking.ts';
export { checkFluidParameters, type FluidParameters, inPackets, PAPER_FLUID, type PacketUnits } from './parameters.ts';
export { type GainCrossing, gainCrossings, phaseMargin } from './phase-margin.ts';
