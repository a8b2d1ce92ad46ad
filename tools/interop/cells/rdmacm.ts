/**
 * Cells of rdmacm-utils' programs over reliable connections: rping, ucmatose, rdma_server with rdma_client, cmtime.
 * Their path MTU follows from the interface's.
 */
import {
  type CellCommand,
  type CellSide,
  fullPackets,
  type InteropCell,
  type IpFamily,
  OPCODES,
  type PathMtu,
  packets,
} from '../cell.ts';

export function rdmacmCells(): InteropCell[] {
  return [
    ...PATHS.map(([ip, mtu]) => rping(ip, mtu)),
    ...PATHS.map(([ip, mtu]) => ucmatose(ip, mtu)),
    ...IP_FAMILIES.map(rdmaPair),
  ];
}

function rping(ip: IpFamily, mtu: PathMtu): InteropCell {
  const prints = [{ pattern: 'ping data: rdma-ping-\\d+: ', count: 5 }];
  return {
    ...common(`rping-${ip}-mtu${mtu}`, 'rping', '-C 5 -S 10000 -v -V', ip, mtu),
    inCi: mtu === (ip === 'IPv4' ? 1024 : 4096),
    server: ({ kind, server }) => ({
      command: `rping -s -a ${server} -C 5 -S 10000 -v -V`,
      prints,
      ready: { listen: 7174 },
      ...(kind === 'stock' ? EXCUSED : {}),
    }),
    client: ({ kind, server }) => {
      const command = `rping -c -a ${server} -C 5 -S 10000 -v -V`;
      if (kind === 'ours') return { command, prints };
      // Who cannot be reached by a ping as large as the wire carries has no business with RDMA.
      const ping = `ping -q -c 1 -s $(($(cat /sys/class/net/eth0/mtu) - 48)) ${server}`;
      return { command: `${ping} && ${command}`, prints, ...EXCUSED };
    },
    wire: [
      packets('Advertisements and their answers.', OPCODES.rcSend, { min: 20 }),
      packets('The server reads each ping.', OPCODES.rcRead, { min: 5 }),
      fullPackets(OPCODES.rcWriteFirst, mtu, RETH_BYTES),
      fullPackets(OPCODES.rcReadFirst, mtu, AETH_BYTES),
    ],
  };
}

function ucmatose(ip: IpFamily, mtu: PathMtu): InteropCell {
  const party = ({ kind }: CellSide, where: string): CellCommand =>
    kind === 'ours'
      ? { command: `ucmatose ${where} -c 2 -C 3 -S 5000`, prints: ['^6 messages sent, 6 received'] }
      : { command: `ucmatose ${where} -c 2 -C 3 -S 5000`, prints: ['^test complete', '^return status 0'] };
  return {
    ...common(`ucmatose-${ip}-mtu${mtu}`, 'ucmatose', '-c 2 -C 3 -S 5000', ip, mtu),
    inCi: mtu === 1024 && ip === 'IPv4',
    server: (side) => ({ ...party(side, side.kind === 'ours' ? '' : `-b ${side.server}`), ready: { listen: 7471 } }),
    client: (side) => party(side, `-s ${side.server}`),
    wire: [
      packets('Twelve messages of two connections.', [...OPCODES.rcSend], { min: 12 }),
      fullPackets(OPCODES.rcSendFirst, mtu),
    ],
  };
}

function rdmaPair(ip: IpFamily): InteropCell {
  return {
    ...common(`rdma-pair-${ip}`, 'rdma_server, rdma_client', '', ip, 1024),
    inCi: ip === 'IPv4',
    server: ({ kind, server }) =>
      kind === 'ours'
        ? { command: 'rdma_server -p 7471', ready: { listen: 7471 } }
        : { command: `rdma_server -s ${server}`, prints: ['^rdma_server: end 0'], ready: { listen: 7471 } },
    client: ({ kind, server }) => ({
      command: `rdma_client -s ${server} -p 7471`,
      ...(kind === 'ours' ? {} : { prints: ['^rdma_client: end 0'] }),
    }),
    wire: [packets('One message each way.', [4], 2)],
  };
}

function common(
  name: string,
  tool: string,
  options: string,
  ip: IpFamily,
  mtu: PathMtu,
): Pick<InteropCell, 'name' | 'tool' | 'options' | 'ip' | 'interfaceMtu' | 'pathMtu'> {
  return { name: name.toLowerCase(), tool, options, ip, interfaceMtu: mtu, pathMtu: mtu };
}

const EXCUSED: Pick<CellCommand, 'excuse'> = {
  excuse: {
    exit: 255,
    prints: 'rdma_get_cm_event: Bad file descriptor',
    why: 'rping closes the event channel its own thread waits on, now and then, after all pings succeeded',
  },
};

const IP_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
/** IPv6 needs an interface of 1280 bytes. */
const PATHS: readonly (readonly [IpFamily, PathMtu])[] = [
  ['IPv4', 256],
  ['IPv4', 512],
  ['IPv4', 1024],
  ['IPv4', 2048],
  ['IPv4', 4096],
  ['IPv6', 1024],
  ['IPv6', 4096],
];
const RETH_BYTES = 16;
const AETH_BYTES = 4;
