/** Captures for the tests of `roce verify`: frames that were made, and frames that were damaged, as a pcapng file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CapturedPacket, LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { readCapture } from '../../../pcap/reader.ts';
import type { Prng } from '../../../src/ground/prng.ts';
import type { MadeFrame } from './every-frame.ts';

/** Frame n is packet n of the file, on an interface of its medium. */
export function captureOf(frames: readonly MadeFrame[]): Uint8Array {
  const writer = new PcapngWriter({ application: 'rocev2, tests of verify' });
  writer.addInterface({ name: 'ethernet', linkType: LinkType.Ethernet });
  writer.addInterface({ name: 'ip', linkType: LinkType.Raw });
  for (const [i, { medium, bytes }] of frames.entries()) writer.packet(medium, bytes, 0, bytes.length, 1, i);
  return writer.take();
}

/** Of each frame only the first `keep` bytes. */
export function cutCapture(frames: readonly { readonly frame: MadeFrame; readonly keep: number }[]): Uint8Array {
  const writer = new PcapngWriter({ application: 'rocev2, tests of verify' });
  writer.addInterface({ name: 'ethernet', linkType: LinkType.Ethernet });
  writer.addInterface({ name: 'ip', linkType: LinkType.Raw });
  for (const [i, { frame, keep }] of frames.entries()) {
    const { medium, bytes } = frame;
    writer.packet(medium, bytes, 0, Math.min(keep, bytes.length), 1, i, { originalLength: bytes.length });
  }
  return writer.take();
}

/** One bit of each frame is another, the same for equal generators. */
export function damaged(frames: readonly MadeFrame[], prng: Prng): MadeFrame[] {
  return frames.map((frame) => {
    const bytes = frame.bytes.slice();
    const at = prng.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << prng.below(8));
    return { ...frame, bytes };
  });
}

export function packetsOf(capture: Uint8Array): CapturedPacket[] {
  return [...readCapture(capture)];
}

/** Files in a directory of their own. */
export class Scratch {
  readonly #directory = mkdtempSync(join(tmpdir(), 'roce-verify-'));

  file(name: string, bytes: Uint8Array | string = new Uint8Array(0)): string {
    const path = join(this.#directory, name);
    writeFileSync(path, bytes);
    return path;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
