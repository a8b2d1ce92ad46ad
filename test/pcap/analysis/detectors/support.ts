/** Captures through the whole analysis, for the tests of detectors. */
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis, Finding } from '../../../../pcap/analysis/types.ts';
import { type CapturedPacket, readCapture } from '../../../../pcap/index.ts';
import { allScenes, type Scene } from '../../../../tools/symptoms/index.ts';

export function analyze(capture: Uint8Array | Iterable<CapturedPacket>): Analysis {
  const analyzer = new Analyzer();
  for (const packet of capture instanceof Uint8Array ? readCapture(capture) : capture) analyzer.packet(packet);
  return analyzer.finish();
}

export function packetsOf(capture: Uint8Array): CapturedPacket[] {
  return [...readCapture(capture)];
}

/** Errors and warnings. */
export function alarms({ findings }: Analysis): Finding[] {
  return findings.filter(({ severity }) => severity !== 'note');
}

/** Ids of errors and warnings, each once, in alphabetical order. */
export function alarmIds(analysis: Analysis): string[] {
  return [...new Set(alarms(analysis).map(({ id }) => id))].sort();
}

/** What a scene is to be alarmed of, each id once, in alphabetical order. */
export function expectedIds({ symptom, triggers, alsoFinds = [] }: Scene): string[] {
  return [...new Set([...(triggers ? [symptom] : []), ...alsoFinds])].sort();
}

export function sceneNamed(name: string): Scene {
  const scene = allScenes().find((each) => each.name === name);
  if (scene === undefined) throw new Error(`there is no scene ${name}`);
  return scene;
}

/** The finding of a symptom, which is there exactly once. */
export function findingOf(analysis: Analysis, id: string): Finding {
  const found = analysis.findings.filter((finding) => finding.id === id);
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} findings of ${id}`);
  return first;
}
