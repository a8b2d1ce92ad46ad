/**
 * A link that outlives the bumps it is given to: guests stay plugged in while the faults between them change.
 *
 * Owns who gets its frames. What arrives while it is given to nobody is lost, as on a wire that is unplugged.
 */
import type { Link, LinkSink } from 'rocev2';
import type { FrameBatch } from 'rocev2/packets';

export class LastingLink {
  readonly #link: Link;
  #sink: LinkSink | undefined;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Plugs it in. Rejects as the link does. */
  start(): Promise<void> {
    return this.#link.start({
      receive: (batch) => this.#sink?.receive(batch),
      writable: () => this.#sink?.writable(),
      closed: (error) => this.#sink?.closed(error),
    });
  }

  /** Ends it. */
  close(): Promise<void> {
    return this.#link.close();
  }

  /** For the next bump: its start and its close leave the link as it is. */
  lend(): Link {
    const { name, medium, mtu } = this.#link;
    let own: LinkSink | undefined;
    return {
      name,
      medium,
      mtu,
      start: async (sink) => {
        own = sink;
        this.#sink = sink;
      },
      send: (batch: FrameBatch, from: number) => this.#link.send(batch, from),
      close: async () => {
        if (this.#sink === own) this.#sink = undefined;
        own?.closed();
        own = undefined;
      },
    };
  }
}
