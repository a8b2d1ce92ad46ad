/**
 * Every frame of a capture, decoded by this project and by tshark, field by field.
 *
 * Owns the two readers side by side and the account. Never prints; memory does not grow with the file.
 */

import { createReadStream } from 'node:fs';
import { type Frame, FrameStatus, Medium } from 'rocev2/packets';
import { type CapturedPacket, CaptureReader } from 'rocev2/pcap';
import { compareFields, type FieldDifference } from './compare.ts';
import { expectationsFor, explain, type FramePair, type KnownDifference, needless, unmet } from './expectation.ts';
import { EXPECTATIONS } from './expectations.ts';
import { FrameDescriber } from './our-frame.ts';
import { type InnermostLayers, innermost, type TsharkFrame, tsharkFrames } from './tshark-frames.ts';

/** A difference in a frame, and the row of the table that explains it. */
export interface FrameDifference extends FieldDifference {
  /** Position in the file, from 1. */
  readonly frame: number;
  /** Undefined: it was not expected. */
  readonly expectation: KnownDifference | undefined;
}

/** What came of one frame. */
export interface FrameVerdict {
  /** Names that were compared. */
  readonly compared: readonly string[];
  /** Expected or not. */
  readonly differences: readonly FrameDifference[];
  /** Rows for which tshark was right. */
  readonly needless: readonly KnownDifference[];
}

/** The account of a capture. */
export interface VerifySummary {
  /** Frames that both have read. */
  readonly frames: number;
  /** Those of them that are whole RoCEv2 packets to us. */
  readonly roceFrames: number;
  /** Fields that were compared. */
  readonly fields: number;
  /** Those of them on which the two agree. */
  readonly agreed: number;
  /** Names of fields that were met. */
  readonly names: ReadonlySet<string>;
  /** Differences by the id of the row that explains them. */
  readonly expected: ReadonlyMap<string, number>;
  /** Differences that nothing explains, a missing frame included. */
  readonly unexpected: number;
  /** Rows for which tshark was right, and in how many frames. */
  readonly noLongerNeeded: ReadonlyMap<string, number>;
}

export interface VerifyOptions {
  /** tshark's version, such as "4.0.17": which rows apply. */
  readonly version: string;
  /** Told of every difference as it is found, expected ones too. */
  readonly onDifference?: (difference: FrameDifference) => void;
  /** Told of what was compared before one of the readers failed, which is thrown afterwards. */
  readonly onUnreadable?: (before: VerifySummary) => void;
  /** Instead of the project's own table. */
  readonly expectations?: readonly KnownDifference[];
}

/**
 * Compares all frames of the capture file `path`. @throws RoceError ERR_ROCE_CAPTURE when either reader cannot read on,
 * a system error when the file is not there; in both cases after `onDifference` and `onUnreadable` were told of
 * everything before
 */
export function verifyFile(path: string, options: VerifyOptions): Promise<VerifySummary> {
  return verifyFrames(capturedPackets(path), tsharkFrames(path), options);
}

/**
 * One frame: what was compared, each difference with the row that explains it, and the rows for which tshark was right.
 */
export function compareFrame(pair: FramePair, table: readonly KnownDifference[]): FrameVerdict {
  const comparison = compareFields(pair.ours.fields, pair.theirs);
  const frame = pair.ours.number;
  const differences = [
    ...comparison.differences.map((difference) => ({
      ...difference,
      frame,
      expectation: explain(difference, pair, table),
    })),
    ...unmet(comparison, pair, table).map((difference) => ({ ...difference, frame, expectation: undefined })),
  ];
  return { compared: comparison.compared, differences, needless: needless(comparison, pair, table) };
}

/** The same with packets and frames from anywhere. */
export async function verifyFrames(
  packets: AsyncIterable<CapturedPacket> | Iterable<CapturedPacket>,
  theirs: AsyncIterable<TsharkFrame> | Iterable<TsharkFrame>,
  options: VerifyOptions,
): Promise<VerifySummary> {
  const account = new Account(options);
  const describer = new FrameDescriber();
  const left = iterate(packets);
  const right = iterate(theirs);
  try {
    for (;;) {
      const [packet, frame] = [await left.next(), await right.next()];
      if (packet.done !== true && frame.done !== true) account.frame(describer, packet.value, frame.value);
      else if (packet.done !== true) account.missing(packet.value.number, 'ours');
      else if (frame.done !== true) account.missing(account.frames + 1, 'theirs');
      if (packet.done === true || frame.done === true) return account.summary();
    }
  } catch (error) {
    options.onUnreadable?.(account.summary());
    throw error;
  } finally {
    await left.return?.();
    await right.return?.();
  }
}

/** Packets of a file as they stream in. */
async function* capturedPackets(path: string): AsyncGenerator<CapturedPacket, void, undefined> {
  const reader = new CaptureReader();
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) {
    reader.push(chunk);
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) yield packet;
  }
  reader.end();
}

async function* iterate<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}

class Account {
  frames = 0;
  readonly #options: VerifyOptions;
  readonly #table: readonly KnownDifference[];
  readonly #names = new Set<string>();
  readonly #expected = new Map<string, number>();
  readonly #noLongerNeeded = new Map<string, number>();
  #roceFrames = 0;
  #fields = 0;
  #different = 0;
  #unexpected = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
    this.#table = expectationsFor(options.version, options.expectations ?? EXPECTATIONS);
  }

  frame(describer: FrameDescriber, packet: CapturedPacket, whole: TsharkFrame): void {
    const ours = describer.describe(packet);
    const theirs = ours.depth === 0 ? whole : innermost(whole, layersOf(ours.frame));
    this.frames++;
    // A link type that we do not read is no disagreement on fields.
    if (!ours.linkKnown) return;
    const { compared, differences, needless } = compareFrame({ ours, theirs }, this.#table);
    if (ours.status === FrameStatus.Ok) this.#roceFrames++;
    this.#fields += compared.length;
    for (const name of compared) this.#names.add(name);
    this.#different += differences.length;
    for (const difference of differences) this.#count(difference);
    for (const { id } of needless) increment(this.#noLongerNeeded, id);
  }

  /** One reader has a frame that the other has not. */
  missing(number: number, who: 'ours' | 'theirs'): void {
    const [ours, theirs] = who === 'ours' ? [number, []] : [undefined, [`${number}`]];
    this.#count({ frame: number, field: 'frame.number', ours, theirs, expectation: undefined });
  }

  summary(): VerifySummary {
    return {
      frames: this.frames,
      roceFrames: this.#roceFrames,
      fields: this.#fields,
      agreed: this.#fields - this.#different,
      names: this.#names,
      expected: this.#expected,
      unexpected: this.#unexpected,
      noLongerNeeded: this.#noLongerNeeded,
    };
  }

  #count(difference: FrameDifference): void {
    if (difference.expectation === undefined) this.#unexpected++;
    else increment(this.#expected, difference.expectation.id);
    this.#options.onDifference?.(difference);
  }
}

function layersOf({ medium, vlanTci, ipVersion, protocol }: Frame): InnermostLayers {
  const ethernet = medium === Medium.Ethernet;
  return { ethernet, vlan: ethernet && vlanTci >= 0, ipVersion, protocol };
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const READ_BYTES = 1024 * 1024;
