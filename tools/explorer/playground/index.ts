/**
 * The playground: the real stack on a simulated network, packet by packet. Runs in a browser, depends on no page. Start
 * with `PlaygroundSession`.
 */
export type { Vantage } from './capture.ts';
export { type Condition, describeCondition, holds } from './conditions.ts';
export { asSent, type Exercise, exerciseOf } from './exercise.ts';
export { ScenarioError } from './fields.ts';
export {
  followStep,
  type Lesson,
  type LessonStep,
  PANELS,
  type Panel,
  type Prediction,
  parseLesson,
} from './lesson.ts';
export { lessonsMarkdown } from './lesson-text.ts';
export { decodeLink, encodeLink, isLink, type LinkedSession } from './link.ts';
export type { ByteRange, RegionName } from './memory.ts';
export { microseconds, type NoteKind, type PolledCompletion, type SessionNote } from './notes.ts';
export type { PacketDetails, PacketSummary } from './packet-view.ts';
export { compactScenario, parseScenario } from './parse-scenario.ts';
export type { RunEnd, SessionStep, SessionStepKind } from './run.ts';
export {
  ACTIONS,
  ANSWERS,
  type Answer,
  CONNECTING,
  type CongestionSpec,
  DEFAULT_CM,
  DEFAULT_CONGESTION,
  DEFAULT_SCENARIO,
  hostName,
  type Intervention,
  LIMITS,
  LINK_SHAPES,
  OPERATION_KINDS,
  type OperationKind,
  type PacketAction,
  type PlaygroundOperation,
  type PlaygroundScenario,
  type QpSpec,
} from './scenario.ts';
export { PlaygroundSession } from './session.ts';
export type { HostSnapshot, QpSnapshot, RegionSnapshot, Snapshot, TimerSnapshot } from './snapshot.ts';
export { LessonWalk, type WalkState } from './walk.ts';
