/** Reads a case's capture back, with this project and with tshark: nothing malformed, every ICRC right, our counts equal tshark's. */
import { viewCapture } from '../experiment/capture-view.ts';
import { tsharkAvailable, tsharkRows } from '../tshark.ts';

export interface CaptureVerdict {
  readonly frames: number;
  readonly roceFrames: number;
  /** What is wrong, a line each; empty when all is well. */
  readonly faults: readonly string[];
}

/** Every RoCE packet must have a good ICRC, and tshark must find as many of them, none malformed. */
export async function verifyCapture(path: string): Promise<CaptureVerdict> {
  const views = viewCapture(path);
  const faults = views.flatMap(({ number, kind, goodIcrc }) => {
    if (kind === 'broken') return [`frame ${number} cannot be parsed`];
    return kind === 'roce' && !goodIcrc ? [`frame ${number}: wrong ICRC`] : [];
  });
  const frames = views.length;
  const roceFrames = views.filter(({ kind }) => kind === 'roce').length;
  if (roceFrames === 0) faults.push('no RoCE packet in the capture');
  if (tsharkAvailable().available) faults.push(...(await tsharkFaults(path, roceFrames)));
  return { frames, roceFrames, faults };
}

async function tsharkFaults(path: string, roceFrames: number): Promise<string[]> {
  const malformed = await tsharkRows(path, ['frame.number'], { filter: '_ws.malformed' });
  const faults = malformed.map((row) => `tshark: frame ${row.get('frame.number')?.[0]} is malformed`);
  const seen = (await tsharkRows(path, ['frame.number'], { filter: 'infiniband' })).length;
  if (seen !== roceFrames) faults.push(`tshark finds ${seen} RoCE packets, we find ${roceFrames}`);
  return faults;
}
