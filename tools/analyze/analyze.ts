/**
 * Runs a capture through the analyzer. Everything up to a defect of the file is analyzed, and the defect is kept for
 * the report.
 *
 * Never opens a file.
 */
import { type Analysis, Analyzer, type AnalyzerOptions } from 'rocev2/pcap';
import { withDrops } from './drops.ts';
import type { PacketTaker, ReadingResult } from './packet-feed.ts';
import { readChunks } from './read-chunks.ts';

/** What came of it. */
export interface Analyzed {
  readonly analysis: Analysis;
  /** Names of the interfaces, by index. */
  readonly interfaces: readonly string[];
  /** Why the file could not be read to its end. */
  readonly damage: Error | undefined;
  /** Of several files, the name of the one that `damage` is about. */
  readonly damaged?: string;
}

/**
 * Analyzes `chunks` up to the place where they are no capture any more or cannot be read. A chunk is no longer used
 * when the third one after it is requested.
 */
export function analyzeChunks(chunks: AsyncIterable<Uint8Array>, options: AnalyzerOptions = {}): Promise<Analyzed> {
  return analyzeBy((take) => readChunks(chunks, take), options);
}

/** Analyzes the packets that `read` hands over. Rejects as `read` does. */
export async function analyzeBy(
  read: (take: PacketTaker) => Promise<ReadingResult>,
  options: AnalyzerOptions,
): Promise<Analyzed> {
  const analyzer = new Analyzer(options);
  const { interfaces, damage, damaged } = await read((packet, icrc, dissection) =>
    analyzer.packet(packet, icrc, dissection),
  );
  const analysis = withDrops(analyzer.finish(), interfaces);
  const analyzed = { analysis, interfaces: interfaces.map(({ name }) => name), damage };
  return damaged === undefined ? analyzed : { ...analyzed, damaged };
}

/** The part of an analysis about these conversations. */
export function narrowed(analysis: Analysis, conversations: readonly number[]): Analysis {
  return {
    ...analysis,
    findings: analysis.findings.filter((finding) => finding.conversations.some((id) => conversations.includes(id))),
    conversations: analysis.conversations.filter(({ id }) => conversations.includes(id)),
    events: analysis.events.filter(({ conversation }) => conversations.includes(conversation)),
  };
}
