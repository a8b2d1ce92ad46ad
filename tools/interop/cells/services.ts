/**
 * Cells of rdmacm-utils' programs for datagrams, multicast and the connection manager itself: udaddy, mckey (its
 * receiver is called the server here), cmtime, and rdma_xserver with rdma_xclient, whose XRC half rdma_rxe does not
 * have.
 */
import { type CellCommand, type CellSide, type InteropCell, type IpFamily, OPCODES, packets } from '../cell.ts';

export function serviceCells(): InteropCell[] {
  return [
    ...IP_FAMILIES.map(udaddy),
    ...IP_FAMILIES.map((ip) => mckey(ip, 1)),
    mckey('IPv4', 4),
    ...IP_FAMILIES.map(cmtime),
    ...IP_FAMILIES.map((ip) => xpair(ip, 'r')),
    xpair('IPv4', 'x'),
  ];
}

function udaddy(ip: IpFamily): InteropCell {
  const options = '-c 2 -C 3 -S 100';
  return {
    ...common(`udaddy-${ip}`, 'udaddy', options, ip),
    server: ({ kind, server }) => ({
      command: `udaddy -b ${server} ${options}`,
      prints: [...STATUS],
      ready: kind === 'ours' ? { prints: 'starting server' } : { listen: 7174 },
    }),
    client: ({ server }) => ({ command: `udaddy -s ${server} ${options}`, prints: [...STATUS] }),
    wire: [packets('Three datagrams of each of two there, and as many back.', OPCODES.udSend, { min: 12 })],
  };
}

function mckey(ip: IpFamily, count: number): InteropCell {
  const group = ip === 'IPv4' ? '239.1.2.3' : 'ff0e::1:203';
  const command = (address: string): string => `mckey -m ${group} -b ${address} -C ${count}`;
  return {
    ...common(`mckey-c${count}-${ip}`, 'mckey', `-m ${group} -C ${count}`, ip),
    inCi: ip === 'IPv4' && count === 1,
    server: ({ kind, server }) => ({
      command: command(server),
      prints: [...STATUS],
      ...(kind === 'ours' ? { ready: { prints: 'receiving data transfers' } } : { readyWhen: joined(ip) }),
    }),
    client: ({ client }) => ({ command: `${command(client)} -s`, prints: [...STATUS] }),
    wire: [packets('To the group, whose queue pair is all ones.', OPCODES.udSend, { min: count })],
    ...(ip === 'IPv4' ? {} : { limit: 'rdma_cm of Linux joins no IPv6 group over RoCEv2: error 524, not supported' }),
    ...(count === 1
      ? {}
      : { without: { client: 'its sender frees the queue pair while datagrams wait to leave; -C 1 is run' } }),
  };
}

function cmtime(ip: IpFamily): InteropCell {
  return {
    ...common(`cmtime-${ip}`, 'cmtime', '-c 20', ip),
    // Neither server ever ends.
    server: ({ server }) => ({ command: `cmtime -b ${server} -c 20`, ready: { listen: 7471 }, exit: 'any' }),
    client: ({ server }) => ({
      command: `cmtime -s ${server} -c 20`,
      prints: ['^create qp +: ', '^connect +: ', '^disconnect +: '],
    }),
    wire: [
      {
        filter: 'infiniband.mad.attributeid == 0x0010',
        count: { min: 20 },
        why: 'As many requests for a connection; one that is late comes twice.',
      },
    ],
  };
}

function xpair(ip: IpFamily, type: 'r' | 'x'): InteropCell {
  const party = (tool: string, words: string, { kind }: CellSide): CellCommand => ({
    command: `${tool} ${words}-p 7471 -c ${type}`,
    prints: kind === 'ours' ? [] : [`^${tool}: end 0`],
  });
  return {
    ...common(`rdma-xpair-${type}-${ip}`, 'rdma_xserver, rdma_xclient', `-c ${type}`, ip),
    server: (side) => ({ ...party('rdma_xserver', '', side), ready: { listen: 7471 } }),
    client: (side) => party('rdma_xclient', `-s ${side.server} `, side),
    ...(type === 'r'
      ? { wire: [packets('A message each way.', OPCODES.rcSend, { min: 1 })] }
      : { limit: 'rdma_rxe has no XRC: `rdma_create_ep: Operation not supported`' }),
    ...(ip === 'IPv4' ? {} : { without: { server: 'its server listens on IPv4 only' } }),
  };
}

/**
 * Ends when the receiver attaches its queue pair, as rxe listens for the group's MAC address then; nothing tells when
 * it has.
 */
function joined(ip: IpFamily): string {
  const mac = ip === 'IPv4' ? '3333ef010203' : '333300010203';
  return `for i in $(seq 500); do grep -q ${mac} /proc/net/dev_mcast && break; usleep 20000; done; usleep 500000`;
}

function common(
  name: string,
  tool: string,
  options: string,
  ip: IpFamily,
): Pick<InteropCell, 'name' | 'tool' | 'options' | 'ip' | 'interfaceMtu' | 'pathMtu' | 'inCi'> {
  return { name: name.toLowerCase(), tool, options, ip, interfaceMtu: 1024, pathMtu: 1024, inCi: ip === 'IPv4' };
}

const IP_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const STATUS = ['^test complete', '^return status 0'] as const;
