/**
 * The packets that the capturing host dropped, from all places where a capture has them. Runs in a browser too.
 */
import type { Analysis, CaptureInterface } from 'rocev2/pcap';

/**
 * The analysis of a capture with these interfaces. Drops are counted beside packets, in the statistics of an interface
 * (the only place that dumpcap uses), or in both. Drops in both are the same ones.
 */
export function withDrops(analysis: Analysis, interfaces: readonly CaptureInterface[]): Analysis {
  let counted = 0;
  for (const { statistics } of interfaces) counted += (statistics?.dropped ?? 0) + (statistics?.droppedByOs ?? 0);
  const { capture } = analysis;
  return { ...analysis, capture: { ...capture, captureDrops: Math.max(capture.captureDrops, counted) } };
}
