/** What TCP needs of the host it is part of. Types only. */
import type { IpAddress, MacAddress } from '../../../../packets/address.ts';
import type { Random } from '../../../../transport/random.ts';
import type { StrangerLimits } from '../../options.ts';

/** What the stack needs of the host it is part of. */
export interface TcpHost {
  readonly mac: MacAddress;
  /** Tag of the frames we send; absent: none. */
  readonly vlanTci?: number | undefined;
  /** Largest IP packet of the link, in bytes. */
  readonly mtu: number;
  readonly random: Random;
  readonly limits: Pick<StrangerLimits, 'maxHalfOpen' | 'synCookies' | 'maxSynAckRetries'>;
  now(): number;
  /** The stack has something to send. */
  wake(): void;
  isOurs(address: IpAddress): boolean;
  /** Whether it can be the address of another host. */
  isHost(address: IpAddress): boolean;
  /** Our address for a destination. Throws ERR_ROCE_ADDRESS. */
  sourceFor(destination: IpAddress): IpAddress;
  /**
   * MAC address of the next hop, or undefined after starting its resolution. `forStranger`: the destination has proved
   * nothing.
   */
  nextHopMac(now: number, destination: IpAddress, forStranger: boolean): MacAddress | undefined;
  /** MAC address of the next hop if it is known. */
  knownMac(destination: IpAddress): MacAddress | undefined;
  /** Resolves when the next hop is known; rejects with ERR_ROCE_ADDRESS. */
  resolve(destination: IpAddress): Promise<void>;
  /** Segments of this end found no place, or look forged. */
  suspect?(cause: TcpSuspicion, address: IpAddress, port: number): void;
}

/** Why a segment is suspicious (`SuspicionCause`). */
export type TcpSuspicion = 'tcp-syn-flood' | 'tcp-bad-cookie' | 'tcp-backlog-full' | 'tcp-resets-dropped';
