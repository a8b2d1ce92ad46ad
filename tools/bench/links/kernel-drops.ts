/**
 * The packets that the kernel of this namespace has dropped on the way to a socket or from an interface. Owns the
 * reading of /proc.
 */
import { readFileSync } from 'node:fs';
import type { PeerCounters } from './protocol.ts';

/** `kernel.` counters; none where there is no /proc. */
export function kernelDrops(): PeerCounters {
  const drops: Record<string, number> = {};
  const ipv6 = /^Udp6RcvbufErrors\s+(\d+)$/m.exec(read('/proc/self/net/snmp6'));
  if (ipv6 !== null) drops['kernel.udp6RcvbufErrors'] = Number(ipv6[1]);
  // Inter-|   Receive: bytes packets errs drop
  for (const [, name = '', , , , dropped] of read('/proc/self/net/dev').matchAll(
    /^ *(\w+): *(\d+) +(\d+) +(\d+) +(\d+)/gm,
  ))
    if (name !== 'lo') drops[`kernel.${name}.rxDropped`] = Number(dropped);
  return drops;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
