/**
 * Frame writers lent to machines for as long as they have unsent frames: a world of ten thousand idle machines needs one, not ten thousand.
 */
import { FrameWriter } from '../../packets/frame-writer.ts';

export class WriterPool {
  readonly #frames: number;
  /** Idle writers by the size of frame they take; few sizes, one per MTU. */
  readonly #idle = new Map<number, FrameWriter[]>();

  /** @param frames what each writer has room for */
  constructor(frames: number) {
    this.#frames = frames;
  }

  /** A writer for frames of up to `frameBytes`; whatever it holds is stale. */
  take(frameBytes: number): FrameWriter {
    return this.#idle.get(frameBytes)?.pop() ?? new FrameWriter(this.#frames, frameBytes);
  }

  giveBack(frameBytes: number, writer: FrameWriter): void {
    const idle = this.#idle.get(frameBytes);
    if (idle === undefined) this.#idle.set(frameBytes, [writer]);
    else idle.push(writer);
  }
}
