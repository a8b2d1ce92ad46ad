/**
 * The packets that the capturing host dropped, from all places where a capture has them. Runs in a browser too.
 */
import type { Analysis, CaptureInterface, CaptureLimit } from 'rocev2/pcap';
import { grouped } from '../table.ts';

/**
 * The analysis of a capture with these interfaces. Drops are counted beside packets, in the statistics of an interface
 * (the only place that dumpcap uses), or in both. Drops in both are the same ones.
 */
export function withDrops(analysis: Analysis, interfaces: readonly CaptureInterface[]): Analysis {
  let counted = 0;
  for (const { statistics } of interfaces) counted += (statistics?.dropped ?? 0) + (statistics?.droppedByOs ?? 0);
  const { capture, limits } = analysis;
  const captureDrops = Math.max(capture.captureDrops, counted);
  const more =
    captureDrops === 0 || limits.some(({ kind }) => kind === 'capture-loss') ? [] : [dropLimit(captureDrops)];
  return { ...analysis, capture: { ...capture, captureDrops }, limits: [...limits, ...more] };
}

/** Where no gap shows which packets they were. */
function dropLimit(captureDrops: number): CaptureLimit {
  return {
    kind: 'capture-loss',
    text: `The capturing host dropped ${grouped(captureDrops)} packet${captureDrops === 1 ? '' : 's'}: they are missing here, which says nothing of the network.`,
    interfaces: [],
    conversations: [],
    frames: [],
    evidence: { captureDrops },
  };
}
