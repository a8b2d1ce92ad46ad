/**
 * Base of links that wrap another link: passes on to the inner link everything that it does not change. The offload of
 * the ICRC is not passed on: who stands between device and link sees, stores or changes whole packets.
 */
import type { IpAddress } from '../../../packets/address.ts';
import type { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { Link, LinkEcn, LinkPoller, LinkSink } from '../../ground/link.ts';

export abstract class LinkDecorator implements Link {
  protected readonly inner: Link;

  constructor(inner: Link) {
    this.inner = inner;
  }

  get name(): string {
    return this.inner.name;
  }

  get medium(): Medium {
    return this.inner.medium;
  }

  get mtu(): number {
    return this.inner.mtu;
  }

  get addresses(): readonly string[] | undefined {
    return this.inner.addresses;
  }

  get sourcePort(): number | undefined {
    return this.inner.sourcePort;
  }

  get maxUnacked(): number | undefined {
    return this.inner.maxUnacked;
  }

  get ecn(): LinkEcn | undefined {
    return this.inner.ecn;
  }

  get reflects(): boolean | undefined {
    return this.inner.reflects;
  }

  get poller(): LinkPoller | undefined {
    return this.inner.poller;
  }

  get join(): ((group: IpAddress) => Promise<void>) | undefined {
    return this.inner.join?.bind(this.inner);
  }

  get leave(): ((group: IpAddress) => void) | undefined {
    return this.inner.leave?.bind(this.inner);
  }

  abstract start(sink: LinkSink): Promise<void>;

  abstract send(batch: FrameBatch, from: number): number;

  close(): Promise<void> {
    return this.inner.close();
  }
}
