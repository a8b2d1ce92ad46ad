/**
 * The UDP source port of the peer's packets, where a connection is to keep to one (`Defences.strictUdpSport`). Owns
 * which port that is: that of the first packet that was executed or that acknowledged something, as others are easily
 * forged. A second queue pair of the peer's host, aimed at ours, has another one (ref:hostile#SEC-17).
 */
import type { Frame } from '../packets/frame.ts';

export class PeerPort {
  /** -1 before it is known. */
  #port = -1;

  /** Whether a packet may be the peer's. */
  admits({ sourcePort }: Frame): boolean {
    return this.#port < 0 || sourcePort === this.#port;
  }

  /** A packet was the peer's. */
  learn({ sourcePort }: Frame): void {
    if (this.#port < 0) this.#port = sourcePort;
  }

  /** Another connection, or another path. */
  forget(): void {
    this.#port = -1;
  }
}
