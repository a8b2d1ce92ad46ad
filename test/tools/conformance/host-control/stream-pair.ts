/** The two ends of a connection in this process: as those of a socket, each ends when the other is gone. */
import { type Duplex, duplexPair } from 'node:stream';

export function streamPair(): [Duplex, Duplex] {
  const [one, other] = duplexPair();
  one.once('close', () => other.destroy());
  other.once('close', () => one.destroy());
  return [one, other];
}
