/** One host of a session, and one end of a connection. Types only. */
import type { Cq, Device, Pd, Qp } from 'rocev2/browser';
import type { IpAddress } from 'rocev2/packets';
import type { HostMemory } from './memory.ts';
import type { HostNotes } from './notes.ts';

/** One side of a connection. */
export interface ConnectedEnd {
  readonly connection: number;
  readonly side: 0 | 1;
  readonly host: number;
  readonly qp: Qp;
}

/** One host. */
export interface PlaygroundHost {
  readonly name: string;
  readonly address: IpAddress;
  readonly device: Device;
  readonly pd: Pd;
  readonly cq: Cq;
  readonly memory: HostMemory;
  readonly notes: HostNotes;
}
