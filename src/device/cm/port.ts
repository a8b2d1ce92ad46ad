/** What connecting, listening and finding services need of the device. Types only. */
import type { IpAddress } from '../../../packets/address.ts';
import type { Random } from '../../../transport/random.ts';
import type { RdmaDevice } from '../api.ts';
import type { Paths } from '../paths.ts';

/** The device as the connection manager's parts see it. */
export interface CmDevice extends RdmaDevice {
  readonly random: Random;
  readonly paths: Pick<Paths, 'hosts' | 'isOurs' | 'joins' | 'sourceFor' | 'traits'>;
  /** The host's time, in integer nanoseconds. */
  now(): number;
  /** As `resolve`, for an address of which we know nothing but a request that may be forged. */
  resolveCaller(address: IpAddress): Promise<void>;
  /** The connection manager has work to do. */
  cmTouched(): void;
}
