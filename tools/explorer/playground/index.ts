/**
 * The playground: the real stack on a simulated network, packet by packet. Runs in a browser, knows no page. `Session` is where to begin.
 */
export type { Vantage } from './capture.ts';
export { type Condition, describeCondition, holds } from './conditions.ts';
export { ScenarioError } from './fields.ts';
export { followStep, type Lesson, type LessonStep, PANELS, type Panel, parseLesson } from './lesson.ts';
export { lessonsMarkdown } from './lesson-text.ts';
export { decodeLink, encodeLink, isLink, type LinkedSession } from './link.ts';
export type { ByteRange, RegionName } from './memory.ts';
export { type Completion, microseconds, type Note, type NoteKind } from './notes.ts';
export type { PacketDetails, PacketSummary } from './packet-view.ts';
export { compactScenario, parseScenario } from './parse-scenario.ts';
export type { RunEnd, Step, StepKind } from './run.ts';
export {
  ACTIONS,
  type Action,
  type CongestionSpec,
  DEFAULT_CONGESTION,
  DEFAULT_SCENARIO,
  hostName,
  type Intervention,
  LIMITS,
  OPERATION_KINDS,
  type Operation,
  type OperationKind,
  type QpSpec,
  type Scenario,
} from './scenario.ts';
export { Session } from './session.ts';
export type { HostSnapshot, QpSnapshot, RegionSnapshot, Snapshot, TimerSnapshot } from './snapshot.ts';
