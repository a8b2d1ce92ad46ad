/**
 * A capture of a wire as this project reads it: which frames are RoCE, and whether their ICRC is right, which tshark does not say.
 */
import { readFileSync } from 'node:fs';
import { Frame, FrameStatus, icrcMatches, parseFrame } from '../../packets/index.ts';
import { CaptureReader, mediumOfLinkType } from '../../pcap/index.ts';

export interface ViewedFrame {
  /** As Wireshark numbers it. */
  readonly number: number;
  readonly kind: 'roce' | 'other' | 'broken';
  /** False for all that is not RoCE. */
  readonly goodIcrc: boolean;
}

/** The frames of a capture; with `at` those seen at one end of a wire, on the interface that is described as it. */
export function viewCapture(path: string, at?: string): ViewedFrame[] {
  const reader = new CaptureReader();
  const frame = new Frame();
  const views: ViewedFrame[] = [];
  reader.push(readFileSync(path));
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    const { bytes, number, linkType, interfaceIndex } = packet;
    const medium = mediumOfLinkType(linkType);
    const elsewhere = at !== undefined && reader.interfaces[interfaceIndex]?.description !== at;
    if (medium === undefined || elsewhere) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, 0, bytes.length, medium, frame);
    if (status === FrameStatus.Ok) views.push({ number, kind: 'roce', goodIcrc: icrcMatches(frame) });
    else views.push({ number, kind: status > FrameStatus.NotRoce ? 'broken' : 'other', goodIcrc: false });
  }
  return views;
}
