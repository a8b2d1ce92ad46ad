/**
 * Runs a capture through the analyzer. Everything up to a defect of the file is analyzed, and the defect is kept for
 * the report.
 *
 * Never opens a file.
 */
import { type Analysis, Analyzer, type AnalyzerOptions, CaptureReader } from 'rocev2/pcap';
import { isDamage } from './damage.ts';
import { withDrops } from './drops.ts';
import { readThreaded } from './threaded-reading.ts';

/** What came of it. */
export interface Analyzed {
  readonly analysis: Analysis;
  /** Names of the interfaces, by index. */
  readonly interfaces: readonly string[];
  /** Why the file could not be read to its end. */
  readonly damage: Error | undefined;
}

/**
 * Analyzes `chunks` up to the place where they are no capture any more or cannot be read. A chunk is no longer used
 * when the third one after it is requested.
 */
export async function analyzeChunks(
  chunks: AsyncIterable<Uint8Array>,
  options: AnalyzerOptions = {},
): Promise<Analyzed> {
  const analyzer = new Analyzer(options);
  const reader = new CaptureReader();
  let damage: Error | undefined;
  try {
    for await (const chunk of chunks) {
      reader.push(chunk);
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) analyzer.packet(packet);
    }
    reader.end();
  } catch (error) {
    if (!isDamage(error)) throw error;
    damage = error;
  }
  const analysis = withDrops(analyzer.finish(), reader.interfaces);
  return { analysis, interfaces: reader.interfaces.map(({ name }) => name), damage };
}

/**
 * Analyzes the file at `path` with two threads: the same result, sooner where there are two processors and a file is
 * large enough to be worth a thread. `progress` is called now and then with the bytes read so far. Rejects where the
 * file cannot be opened.
 */
export async function analyzeThreaded(
  path: string,
  options: AnalyzerOptions,
  progress: (bytes: number) => void,
): Promise<Analyzed> {
  const analyzer = new Analyzer(options);
  const take = analyzer.packet.bind(analyzer);
  const { interfaces, damage } = await readThreaded(path, options.verifyIcrc ?? true, take, progress);
  const analysis = withDrops(analyzer.finish(), interfaces);
  return { analysis, interfaces: interfaces.map(({ name }) => name), damage };
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
