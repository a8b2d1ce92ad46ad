/**
 * Cells of the pingpong programs of ibverbs-utils: RC, UC, UD, a shared receive queue, and XRC, which rdma_rxe does not
 * have. They meet over TCP and IPv4 in any case; the GID index says what their packets travel by.
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

export function pingpongCells(): InteropCell[] {
  return [
    ...PATHS.map(([ip, mtu]) => pingpong('rc', ip, mtu, OPCODES.rcSend, OPCODES.rcSendFirst)),
    ...PATHS.map(([ip, mtu]) => pingpong('uc', ip, mtu, OPCODES.ucSend, OPCODES.ucSendFirst)),
    ...PATHS.map(([ip, mtu]) => pingpong('srq', ip, mtu, OPCODES.rcSend, OPCODES.rcSendFirst)),
    ...UD_PATHS.map(([ip, mtu]) => datagrams(ip, mtu)),
    ...IP_FAMILIES.map(xrc),
  ];
}

function pingpong(
  kind: 'rc' | 'uc' | 'srq',
  ip: IpFamily,
  mtu: PathMtu,
  opcodes: readonly number[],
  first: number,
): InteropCell {
  const options = `-n 20 -s 10000 -m ${mtu} ${kind === 'srq' ? '-q 4' : '-c'}`;
  return {
    ...meeting(`ibv_${kind}_pingpong`, options, 400_000),
    name: `${kind}-pingpong-${ip}-m${mtu}`.toLowerCase(),
    ip,
    interfaceMtu: 4096,
    pathMtu: mtu,
    inCi: ip === CI_FAMILIES[kind] && mtu === (ip === 'IPv4' ? 1024 : 4096),
    wire: [packets('Twenty messages each way.', opcodes, { min: 40 }), fullPackets(first, mtu)],
  };
}

function datagrams(ip: IpFamily, mtu: PathMtu): InteropCell {
  return {
    ...meeting('ibv_ud_pingpong', `-n 20 -s ${mtu} -c`, 40 * mtu),
    name: `ud-pingpong-${ip}-s${mtu}`.toLowerCase(),
    ip,
    interfaceMtu: mtu,
    pathMtu: mtu,
    inCi: mtu === 4096 && ip === 'IPv4',
    wire: [packets('Twenty datagrams each way.', OPCODES.udSend, { min: 40 }), fullPackets(100, mtu, DETH_BYTES)],
  };
}

function xrc(ip: IpFamily): InteropCell {
  return {
    ...meeting('ibv_xsrq_pingpong', '-n 20 -s 10000 -m 1024', undefined),
    name: `xsrq-pingpong-${ip}`.toLowerCase(),
    ip,
    interfaceMtu: 4096,
    pathMtu: 1024,
    inCi: ip === 'IPv4',
    limit: "rdma_rxe has no XRC: `Couldn't Open the XRC Domain 95`",
  };
}

/** Both ends print the same, and say how many bytes went there and back. */
function meeting(
  tool: string,
  options: string,
  bytes: number | undefined,
): Pick<InteropCell, 'tool' | 'options' | 'server' | 'client'> {
  const prints = bytes === undefined ? [] : [`^${bytes} bytes in .* Mbit/sec`, '^20 iters in .* usec/iter'];
  const party = ({ gid }: CellSide, peer = ''): CellCommand => ({
    command: `${tool} -g ${gid} ${options}${peer}`,
    prints,
  });
  return {
    tool,
    options,
    server: (side) => ({ ...party(side), ready: { listen: 18_515 } }),
    client: (side) => party(side, ` ${side.meeting}`),
  };
}

/** What `npm test` runs. */
const CI_FAMILIES = { rc: 'IPv4', uc: 'IPv6', srq: 'IPv4' } as const;
const IP_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const PATHS: readonly (readonly [IpFamily, PathMtu])[] = [
  ['IPv4', 256],
  ['IPv4', 512],
  ['IPv4', 1024],
  ['IPv4', 2048],
  ['IPv4', 4096],
  ['IPv6', 1024],
  ['IPv6', 4096],
];
/** A datagram is as large as the interface lets it be. */
const UD_PATHS = PATHS;
const DETH_BYTES = 8;
