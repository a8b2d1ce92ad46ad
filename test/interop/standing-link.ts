/**
 * A link that stays up when its user closes it, so that the next bump takes the same wire: one guest, booted once, sees
 * many kinds of bad wires. Between two users nothing is delivered.
 */
import type { FrameBatch } from '../../packets/frame-writer.ts';
import type { Link, LinkEcn, LinkSink } from '../../src/ground/link.ts';

export class StandingLink implements Link {
  readonly name: string;
  readonly medium: Link['medium'];
  readonly mtu: number;
  readonly ecn: LinkEcn | undefined;
  readonly #link: Link;
  #sink: LinkSink | undefined;
  #started = false;

  constructor(link: Link) {
    this.#link = link;
    this.name = link.name;
    this.medium = link.medium;
    this.mtu = link.mtu;
    this.ecn = link.ecn;
  }

  async start(sink: LinkSink): Promise<void> {
    this.#sink = sink;
    if (this.#started) return;
    this.#started = true;
    await this.#link.start({
      receive: (batch) => this.#sink?.receive(batch),
      writable: () => this.#sink?.writable(),
      closed: (error) => this.#sink?.closed(error),
    });
  }

  send(batch: FrameBatch, from: number): number {
    return this.#link.send(batch, from);
  }

  /** Its user has gone; the wire stays. */
  async close(): Promise<void> {
    this.#sink = undefined;
  }

  /** Takes it down. */
  unplug(): Promise<void> {
    return this.#link.close();
  }
}
