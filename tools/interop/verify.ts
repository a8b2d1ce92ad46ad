/** Reads a case's capture back, with this project and with tshark: nothing malformed, every ICRC right, our counts equal tshark's. */
import { readFileSync } from 'node:fs';
import { Frame, FrameStatus, icrcMatches, parseFrame } from '../../packets/index.ts';
import { mediumOfLinkType, readCapture } from '../../pcap/index.ts';
import { tsharkAvailable, tsharkRows } from '../tshark.ts';

export interface CaptureVerdict {
  readonly frames: number;
  readonly roceFrames: number;
  /** What is wrong, a line each; empty when all is well. */
  readonly faults: readonly string[];
}

/** Every RoCE packet must have a good ICRC, and tshark must find as many of them, none malformed. */
export async function verifyCapture(path: string): Promise<CaptureVerdict> {
  const faults: string[] = [];
  const frame = new Frame();
  let frames = 0;
  let roceFrames = 0;
  for (const packet of readCapture(readFileSync(path))) {
    frames += 1;
    const { bytes } = packet;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const medium = mediumOfLinkType(packet.linkType);
    if (medium === undefined) continue;
    const status = parseFrame(bytes, view, 0, bytes.length, medium, frame);
    if (status > FrameStatus.NotRoce) faults.push(`frame ${frames}: status ${status}`);
    if (status !== FrameStatus.Ok) continue;
    roceFrames += 1;
    if (!icrcMatches(frame)) faults.push(`frame ${frames}: wrong ICRC`);
  }
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
