/**
 * What live devices have in common: our station on a real link, in real time. Owns the driver and its end. What the
 * device is, the files beside say.
 */

import type { Link } from 'rocev2';
import { Driver } from 'rocev2/node';
import type { RoceError } from 'rocev2/packets';
import { type StationOptions, TesterStation } from '../tester/station.ts';

/** The station on its wire. */
export interface OpenStation {
  readonly station: TesterStation;
  /** Resolves when the wire is gone: with the reason, or undefined after `close`. */
  readonly closed: Promise<RoceError | undefined>;
  close(): Promise<void>;
}

/** Starts a link and puts a station on it. @throws RoceError what the link rejects with */
export async function openStation(link: Link, options: Omit<StationOptions, 'host' | 'medium'>): Promise<OpenStation> {
  const driver = new Driver(link);
  const station = new TesterStation({ ...options, host: driver.host, medium: link.medium });
  await driver.start(station);
  return { station, closed: driver.closed, close: () => driver.close() };
}
