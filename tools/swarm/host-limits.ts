/** What an honest host may hold while it is attacked, and after the end. Owns no bound but what its options say. */
import { DEFAULT_STRANGER_LIMITS, type Device } from 'rocev2';

type Limits = Pick<typeof DEFAULT_STRANGER_LIMITS, 'maxNeighbours' | 'maxUnresolved' | 'maxHalfOpen' | 'maxRequests'>;

/** What is beyond its bound; `own` is what programs of the host itself hold at most of each. */
export function beyondLimits(device: Device, limits: Limits = DEFAULT_STRANGER_LIMITS, own = 8): string[] {
  const { neighbours, resolutions, tcpConnections, connections } = device.tables();
  const bounds: readonly (readonly [string, number, number])[] = [
    ['neighbours', neighbours, limits.maxNeighbours],
    ['resolutions', resolutions, limits.maxUnresolved + own],
    ['TCP connections', tcpConnections, limits.maxHalfOpen + own],
    ['connections', connections, limits.maxRequests + own],
  ];
  return bounds.flatMap(([name, count, most]) =>
    count > most ? [`${device.name}: ${count} ${name}, and the bound is ${most}`] : [],
  );
}

/** What is left of what must be gone when everything was destroyed and all timers have run. */
export function leftBehind(device: Device): string[] {
  const tables = device.tables();
  const gone = [
    ...(['queuePairs', 'connections', 'connectionEntries', 'heldQueuePairNumbers', 'listeners'] as const),
    ...(['resolutions', 'tcpConnections', 'groups', 'timers', 'waitingMads'] as const),
  ];
  return gone.flatMap((name) => (tables[name] === 0 ? [] : [`${device.name}: ${tables[name]} ${name} are left`]));
}
