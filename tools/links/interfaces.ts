/**
 * The network interfaces of this machine, as any process may see them. Owns the reading; an interface that cannot be
 * read in full is still listed. On systems without /proc, those with an address are all there are.
 */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { interfaceMtu } from 'rocev2/node';

export interface NetworkInterface {
  readonly name: string;
  /** Largest IP packet in bytes; null where nothing says so. */
  readonly mtu: number | null;
  /** Null where it has none. */
  readonly mac: string | null;
  /** With prefix lengths, IPv4 first; none while it is down. */
  readonly addresses: readonly string[];
}

export function readInterfaces(): NetworkInterface[] {
  const withAddresses = networkInterfaces();
  const names = new Set([...namesOf(readText('/proc/thread-self/net/dev')), ...Object.keys(withAddresses)]);
  return [...names].sort().map((name) => {
    const entries = withAddresses[name] ?? [];
    const mac = entries[0]?.mac ?? readText(`/sys/class/net/${name}/address`).trim();
    const sorted = [...entries].sort((a, b) => a.family.localeCompare(b.family));
    return {
      name,
      mtu: interfaceMtu(name) ?? null,
      mac: /[1-9a-f]/i.test(mac) ? mac : null,
      addresses: sorted.flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
    };
  });
}

/** Names in the kernel's table of interfaces, which begins with two lines of headings. */
function namesOf(table: string): string[] {
  return table
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const name = line.slice(0, line.lastIndexOf(':')).trim();
      return name === '' ? [] : [name];
    });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
