/**
 * Frames of a simulation as a pcapng file: what every host sends and receives, an interface for each host, virtual time
 * from 0. Owns the choice of frames and the bound; the same run gives the same bytes.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { type FabricTap, portName, type Topology } from 'rocev2/sim';

export class HostCapture implements FabricTap {
  readonly #writer = new PcapngWriter({ application: 'rocev2 sim' });
  readonly #file: number;
  /** By name of the port that sends: the host at one of its ends, seen from there. */
  readonly #seen: ReadonlyMap<string, { readonly host: number; readonly at: 'out' | 'in' }>;
  readonly #names: readonly string[];
  readonly #interfaces = new Map<number, number>();
  #left: number;

  /** @param frames at most so many are written @throws what the system says of a file that cannot be made */
  constructor(path: string, frames: number, topology: Topology) {
    this.#left = frames;
    this.#names = topology.nodeNames;
    this.#seen = hostPorts(topology);
    this.#file = openSync(path, 'w');
  }

  frame(
    now: number,
    port: { readonly name: string },
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    if (this.#left === 0) return;
    const seen = this.#seen.get(`${port.name} ${direction}`);
    if (seen === undefined) return;
    this.#left--;
    const seconds = Math.floor(now / 1e9);
    this.#writer.packet(this.#interfaceOf(seen.host), bytes, start, end, seconds, now - seconds * 1e9, {
      direction: seen.at === 'out' ? Direction.Outbound : Direction.Inbound,
    });
    if (this.#writer.pendingBytes >= FLUSH_BYTES) this.#flush();
  }

  close(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #interfaceOf(host: number): number {
    const known = this.#interfaces.get(host);
    if (known !== undefined) return known;
    const made = this.#writer.addInterface({ name: this.#names[host] ?? `host${host}`, linkType: LinkType.Ethernet });
    this.#interfaces.set(host, made);
    return made;
  }

  #flush(): void {
    writeSync(this.#file, this.#writer.take());
  }
}

/** A host's own port as frames leave it, and the port that leads to it as frames arrive. */
function hostPorts(topology: Topology): Map<string, { host: number; at: 'out' | 'in' }> {
  const seen = new Map<string, { host: number; at: 'out' | 'in' }>();
  for (const { a, aPort, b, bPort } of topology.edges) {
    for (const [host, port, peer, peerPort] of [[a, aPort, b, bPort] as const, [b, bPort, a, aPort] as const]) {
      if (host >= topology.hostCount) continue;
      seen.set(`${portName(topology, host, port)} out`, { host, at: 'out' });
      seen.set(`${portName(topology, peer, peerPort)} in`, { host, at: 'in' });
    }
  }
  return seen;
}

const FLUSH_BYTES = 1 << 18;
