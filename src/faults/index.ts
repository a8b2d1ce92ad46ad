/**
 * `rocev2/faults`: what can go wrong on a wire, and the rules that say when. For programs that forward frames, as
 * `Bump` and `withFaults` do. Runs in a browser.
 *
 * @module rocev2/faults
 */
export { type CompiledRule, compileRules, type MatchContext } from './compile.ts';
export type { PacketContext, TrackedConnection, TrackedConnectionEnd } from './conversations.ts';
export type { RateQueue } from './departures.ts';
export { FaultEngine, type FaultEngineOptions } from './engine.ts';
export { checkFaultSpec, type EcnProfile, type FaultSpec } from './fault-spec.ts';
export type { NotifierCounters, NotifyOptions } from './notifier.ts';
export { FaultPath, type FaultPathOptions, type FrameConsumer, type PathCounters, type PathObserver } from './path.ts';
export {
  FAULT_ACTIONS,
  FAULT_DIRECTIONS,
  type FaultAction,
  type FaultDirection,
  type WireCondition,
  type WireFaults,
  type WireRule,
} from './rule.ts';
export type { FrameDecision } from './verdict.ts';
