/**
 * Our end of the cable to a host: a link that stays, lent to one wire after another. A guest's cable cannot be plugged
 * twice, but every case has a wire of its own. Frames that come while the link is not lent are lost, as without a
 * wire.
 */

import type { Link, LinkSink } from 'rocev2';
import { invariant, type RoceError } from 'rocev2/packets';

export class CablePort {
  readonly #link: Link;
  #borrower: LinkSink | undefined;
  #error: RoceError | undefined;
  #ended = false;

  private constructor(link: Link) {
    this.#link = link;
  }

  /** Starts a link for the life of the port. Rejects as its `start` does. */
  static async open(link: Link): Promise<CablePort> {
    const port = new CablePort(link);
    await link.start({
      receive: (batch) => port.#borrower?.receive(batch),
      writable: () => port.#borrower?.writable(),
      closed: (error) => port.#end(error),
    });
    return port;
  }

  /** The link, for one user at a time: from `start` to `close`. `name` is its name in captures. */
  lend(name: string): Link {
    const link = this.#link;
    let mine: LinkSink | undefined;
    return {
      name,
      medium: link.medium,
      mtu: link.mtu,
      start: async (sink) => {
        invariant(this.#borrower === undefined, 'a port is lent to one wire at a time');
        mine = sink;
        this.#borrower = sink;
        if (this.#ended) this.#end(this.#error);
      },
      send: (batch, from) => (mine === undefined ? batch.count - from : link.send(batch, from)),
      close: async () => {
        const sink = mine;
        mine = undefined;
        if (sink === undefined || this.#borrower !== sink) return;
        this.#borrower = undefined;
        sink.closed();
      },
    };
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #end(error: RoceError | undefined): void {
    this.#ended = true;
    this.#error = error;
    const borrower = this.#borrower;
    this.#borrower = undefined;
    borrower?.closed(error);
  }
}
