/**
 * Frame writers lent to machines for as long as they have unsent frames: a world of ten thousand idle machines needs
 * one, not ten thousand.
 */
import { FrameWriter } from '../../packets/frame-writer.ts';

export class WriterPool {
  readonly #frames: number;
  /** Idle writers by the size of frame they take; few sizes, one per MTU. */
  readonly #idle = new Map<number, FrameWriter[]>();
  /** The one given back last, and the size of frame it takes: nearly always the one that is taken next. */
  #last: FrameWriter | undefined;
  #lastBytes = 0;

  /** @param frames what each writer has room for */
  constructor(frames: number) {
    this.#frames = frames;
  }

  /** A writer for frames of up to `frameBytes`; whatever it holds is stale. */
  take(frameBytes: number): FrameWriter {
    const last = this.#last;
    if (last !== undefined && this.#lastBytes === frameBytes) {
      this.#last = undefined;
      return last;
    }
    return this.#idle.get(frameBytes)?.pop() ?? new FrameWriter(this.#frames, frameBytes);
  }

  giveBack(frameBytes: number, writer: FrameWriter): void {
    if (this.#last === undefined) {
      this.#last = writer;
      this.#lastBytes = frameBytes;
      return;
    }
    const idle = this.#idle.get(frameBytes);
    if (idle === undefined) this.#idle.set(frameBytes, [writer]);
    else idle.push(writer);
  }
}
