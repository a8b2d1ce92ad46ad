/**
 * The contestants: every link, each on a medium it is made for, and Node's own sockets on the same media. A goal
 * compares contestants on the same medium. Owns the list and how the ends of each are made; measures nothing.
 */

import type { BenchMedium, BenchPlace } from './places.ts';
import type { MeasuredTask, PeerConfig } from './protocol.ts';

export interface Contestant {
  /** A kind of link, `in-process`, or `dgram`, `dgram-connected` and `tcp` for what is not ours. */
  readonly name: string;
  readonly medium: BenchMedium;
  /** Whether it is a stack of ours: those lose no frames, and are soaked. */
  readonly ours: boolean;
  readonly tasks: readonly MeasuredTask[];
  /** Whether its processes take their processors whole while they wait: they are stopped while others are measured. */
  readonly spins?: boolean;
  /** Server and client, or both in one. */
  configs(place: BenchPlace): readonly [PeerConfig] | readonly [PeerConfig, PeerConfig];
}

const LOOPBACK = ['fd98::1', 'fd98::2'] as const;
const VETH = ['fd99::1', 'fd99::2'] as const;
/** Beside the kernel's, on links that bring their own. */
const OWN = ['10.99.0.11/24', '10.99.0.12/24'] as const;
const WIRE_MTU = 9000;
const OUR_TASKS: readonly MeasuredTask[] = ['goodput', 'rate', 'roundTrip'];

/** Contestants that are compared are neighbours in the list: they are measured one after the other. */
export const CONTESTANTS: readonly Contestant[] = [
  dgram('dgram-connected', 'loopback', LOOPBACK),
  dgram('dgram', 'loopback', LOOPBACK),
  udp('udp6', 'loopback', LOOPBACK),
  udp('udp-offload', 'loopback', LOOPBACK),
  waiting(udp('udp-offload', 'loopback', LOOPBACK), 'event'),
  waiting(udp('udp-offload', 'loopback', LOOPBACK), 'busy'),
  tcp('loopback', LOOPBACK),
  dgram('dgram', 'veth', VETH),
  udp('udp6', 'veth', VETH),
  ethernet('packet-ring', 'veth', () => ['packet-ring:veth0', 'packet-ring:veth0']),
  waiting(
    ethernet('packet-ring', 'veth', () => ['packet-ring:veth0', 'packet-ring:veth0']),
    'event',
  ),
  udp('udp-offload', 'veth', VETH),
  tcp('veth', VETH),
  ethernet('pcap', 'veth', () => ['pcap:veth0', 'pcap:veth0']),
  rawSocket(),
  ethernet('tap', 'TAPs on a bridge', () => ['tap:tap0', 'tap:tap1']),
  ethernet('shm', 'shared memory', ({ directory }) => [`shm:${directory}/shm`, `shm:${directory}/shm,connect`]),
  waiting(
    ethernet('shm', 'shared memory', ({ directory }) => [`shm:${directory}/shm`, `shm:${directory}/shm,connect`]),
    'event',
  ),
  ethernet('qemu', 'unix socket', ({ directory }) => [`qemu:${directory}/wire`, `qemu:${directory}/wire,connect`]),
  {
    name: 'in-process',
    medium: 'one process',
    ours: true,
    tasks: OUR_TASKS,
    configs: () => [{ kind: 'world' }],
  },
];

/**
 * Those that `names` choose: names, or `name@medium`; all when there are none. `unknown` is the first name that fits
 * none.
 */
export function chosen(names: readonly string[]): { readonly those: readonly Contestant[]; readonly unknown?: string } {
  const matches = (name: string, one: Contestant): boolean => name === one.name || name === `${one.name}@${one.medium}`;
  const unknown = names.find((name) => !CONTESTANTS.some((one) => matches(name, one)));
  const those = CONTESTANTS.filter((one) => names.length === 0 || names.some((name) => matches(name, one)));
  return unknown === undefined ? { those } : { those, unknown };
}

function dgram(
  name: 'dgram' | 'dgram-connected',
  medium: BenchMedium,
  [server, client]: readonly [string, string],
): Contestant {
  const connected = name === 'dgram-connected';
  return {
    name,
    medium,
    ours: false,
    tasks: [...OUR_TASKS, 'flood'],
    configs: () => [
      { kind: 'dgram', role: 'server', address: server, peer: client, connected },
      { kind: 'dgram', role: 'client', address: client, peer: server, connected },
    ],
  };
}

function tcp(medium: BenchMedium, [server, client]: readonly [string, string]): Contestant {
  return {
    name: 'tcp',
    medium,
    ours: false,
    tasks: ['goodput', 'roundTrip'],
    configs: () => [
      { kind: 'tcp', role: 'server', address: server, peer: client },
      { kind: 'tcp', role: 'client', address: client, peer: server },
    ],
  };
}

/** A link whose specification includes its own address. */
function udp(name: string, medium: BenchMedium, [server, client]: readonly [string, string]): Contestant {
  return {
    name,
    medium,
    ours: true,
    tasks: OUR_TASKS,
    configs: () => [
      { kind: 'roce', role: 'server', link: `${name}:[${server}]`, peer: client },
      { kind: 'roce', role: 'client', link: `${name}:[${client}]`, peer: server },
    ],
  };
}

/** The same, with devices that wait for frames in another way than by default. */
function waiting(contestant: Contestant, poll: 'event' | 'busy'): Contestant {
  return {
    ...contestant,
    name: `${contestant.name} ${poll}`,
    spins: poll === 'busy',
    configs: (place) => {
      const [server, client] = contestant.configs(place);
      const polled = (config: PeerConfig): PeerConfig => (config.kind === 'roce' ? { ...config, poll } : config);
      return client === undefined ? [polled(server)] : [polled(server), polled(client)];
    },
  };
}

/** A link with the kernel's address of an interface. */
function rawSocket(): Contestant {
  return {
    name: 'raw-socket',
    medium: 'veth',
    ours: true,
    tasks: OUR_TASKS,
    configs: () => [
      { kind: 'roce', role: 'server', link: 'raw-socket:veth0', peer: '10.99.0.2' },
      { kind: 'roce', role: 'client', link: 'raw-socket:veth0', peer: '10.99.0.1' },
    ],
  };
}

/** A link of whole Ethernet frames, on which we have an address of our own. */
function ethernet(
  name: string,
  medium: BenchMedium,
  links: (place: BenchPlace) => readonly [string, string],
): Contestant {
  const [server, client] = OWN;
  return {
    name,
    medium,
    ours: true,
    tasks: OUR_TASKS,
    configs: (place) => {
      const [serverLink, clientLink] = links(place);
      const peers = [withoutPrefix(client), withoutPrefix(server)] as const;
      return [
        { kind: 'roce', role: 'server', link: serverLink, address: server, peer: peers[0], mtu: WIRE_MTU },
        { kind: 'roce', role: 'client', link: clientLink, address: client, peer: peers[1], mtu: WIRE_MTU },
      ];
    },
  };
}

function withoutPrefix(address: string): string {
  return address.slice(0, address.indexOf('/'));
}
