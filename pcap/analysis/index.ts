/** The analysis of captures, for users of the library. Owns the choice of what is public. */
export { Analyzer, type AnalyzerOptions } from './analyzer.ts';
export {
  type ConversationFigures,
  conversationFigures,
  conversationNetworks,
  goodputBps,
} from './conversation-figures.ts';
export type { Detector, DetectorContext, FindingDraft, Symptom } from './detector.ts';
export { SYMPTOMS } from './detectors/index.ts';
export { eventDetail, nakName } from './event-text.ts';
export { MARK_NAMES, Mark, type PacketFacts, Role } from './facts.ts';
export { RULE_LIST, type Rule } from './rules/index.ts';
export * from './types.ts';
