/**
 * Frame writers lent to machines for as long as they have unsent frames: a world of ten thousand idle machines needs one, not ten thousand.
 */
import { FrameWriter } from '../../packets/frame-writer.ts';

const WRITER_FRAMES = 64;

export class WriterPool {
  /** Idle writers by the size of frame they take; few sizes, one per MTU. */
  readonly #idle = new Map<number, FrameWriter[]>();

  /** A writer for frames of up to `frameBytes`; whatever it holds is stale. */
  take(frameBytes: number): FrameWriter {
    return this.#idle.get(frameBytes)?.pop() ?? new FrameWriter(WRITER_FRAMES, frameBytes);
  }

  giveBack(frameBytes: number, writer: FrameWriter): void {
    const idle = this.#idle.get(frameBytes);
    if (idle === undefined) this.#idle.set(frameBytes, [writer]);
    else idle.push(writer);
  }
}
