/** What an application learns of an error of the stack itself. */

/** An error of the stack itself, which goes on: please report it, with the frame. */
export interface InternalErrorEvent {
  /** Tells it from the other events. */
  readonly kind: 'internal-error';
  /** What was done: a frame was received, packets were written, a timer expired, or results were delivered. */
  readonly during: 'receive' | 'transmit' | 'timeout' | 'settle';
  /** What was thrown. */
  readonly error: unknown;
  /** The queue pair that is in ERROR because of it; absent where it concerned none. */
  readonly qpn?: number;
  /**
   * A copy of the received frame, from its link header on; absent where there was none. To reproduce the error, pass
   * it to `replayFrame`.
   */
  readonly frame?: Uint8Array;
}
