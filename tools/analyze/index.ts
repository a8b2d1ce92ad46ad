/** The `analyze` command, and its report for whoever has an analysis. */
export { type Analyzed, analyzeChunks } from './analyze.ts';
export { annotate, packetComments } from './annotate.ts';
export { analyzeCommand } from './command.ts';
export { overviewLines } from './conversation-text.ts';
export { type ReportOptions, reportLines } from './report.ts';
