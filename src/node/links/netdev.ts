/**
 * Properties of a network interface from the kernel, for links that name one.
 * Owns no socket and needs no privilege. Everything is read from where the namespace of the calling thread shows:
 * `/sys/class/net` shows the namespace it was mounted in and comes last (man 7 sysfs namespaces; seen: after setns(2)
 * it still shows the old one).
 */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { LinkText } from './kind.ts';

/**
 * The target of `spec`, which has to be the name of an interface. @throws RoceError ERR_ROCE_ARGUMENT by way of `spec`
 */
export function takeInterface(spec: LinkText): string {
  // IFNAMSIZ is 16 with the closing zero; the rest is what the kernel takes as a name (and never "." or "..").
  if (!/^(?!\.{1,2}$)[^\s/:]{1,15}$/.test(spec.target))
    throw spec.error(`${JSON.stringify(spec.target)} is not the name of an interface`);
  return spec.target;
}

export function interfaceExists(name: string): boolean {
  const table = readText('/proc/thread-self/net/dev');
  return table.split('\n').some((line) => line.slice(0, line.lastIndexOf(':')).trim() === name);
}

/** Largest IP packet in bytes, 1 .. 65,535, or undefined where it is not known. */
export function interfaceMtu(name: string): number | undefined {
  // IPv6's own MTU is the interface's unless a router announced a smaller one, and it is of the right namespace.
  for (const path of [`/proc/sys/net/ipv6/conf/${name}/mtu`, `/sys/class/net/${name}/mtu`]) {
    const mtu = Number.parseInt(readText(path), 10);
    if (mtu > 0) return Math.min(mtu, MAX_IP_BYTES);
  }
  return undefined;
}

/**
 * The interface's addresses with prefix lengths, IPv4 first. None while it is down. Link-local IPv6 addresses are left
 * out: they mean nothing without an interface, which neither GIDs nor the connection manager carry.
 */
export function interfaceAddresses(name: string): readonly string[] {
  const all = (networkInterfaces()[name] ?? []).filter(
    ({ cidr, address }) => cidr !== null && !/^fe[89ab]/i.test(address),
  );
  const of = (version: 'IPv4' | 'IPv6'): string[] =>
    all.filter(({ family }) => family === version).map(({ cidr }) => cidr ?? '');
  return [...of('IPv4'), ...of('IPv6')];
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const MAX_IP_BYTES = 65_535;
