/**
 * Address handle: where datagrams go, resolved once and named by each work request. It belongs to a protection domain,
 * and only queue pairs of that domain may use it (ref:conformance#QPS-16).
 */
import type { ProtectionDomain } from './memory.ts';
import type { QpPath } from './qp-path.ts';

/**
 * An address handle, sans I/O.
 *
 * @example
 * ```ts
 * import { attachDevice, IpAddress, World } from 'rocev2';
 * import type { AddressHandle } from 'rocev2/transport';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * // Made once, which may take an ARP request; named by every datagram that goes there.
 * const ah: AddressHandle = await world.run(a.allocPd().createAh({ destination: IpAddress.parse('10.0.0.2') }));
 * console.log(`${ah.path?.remote}`, ah.destroyed); // 10.0.0.2 false
 * ```
 */
export class AddressHandle {
  /** Queue pairs of this domain may name it. */
  readonly domain: ProtectionDomain;
  /**
   * Headers and addresses; the device keeps the MAC address in them right. Absent where the stack runs in another
   * thread.
   */
  readonly path: QpPath | undefined;
  /** True once destroyed: no new work request may name it. */
  destroyed = false;

  /** A handle for a path that is resolved. */
  constructor(domain: ProtectionDomain, path: QpPath | undefined) {
    this.domain = domain;
    this.path = path;
  }
}
