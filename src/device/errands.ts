/** What services do in the turn or timer of a queue pair (`InternalErrors.apart`). Owns nothing. */
import type { CmService } from './cm/service.ts';
import type { NextHop } from './next-hop.ts';
import type { Paths } from './paths.ts';

/** What errands need of the device. */
export interface ErrandDevice {
  readonly paths: Pick<Paths, 'check' | 'doubt'>;
  readonly cm: Pick<CmService, 'notifyTraffic'>;
  now(): number;
}

export const checkHop = (device: ErrandDevice, hop: NextHop): void => device.paths.check(device.now(), hop);
export const doubtHop = (device: ErrandDevice, hop: NextHop): void => device.paths.doubt(device.now(), hop.address);
export const tellTraffic = (device: ErrandDevice, qp: { readonly qpn: number }): void =>
  device.cm.notifyTraffic(qp.qpn);
