/**
 * Cells of the programs of rdmacm-utils that speak rsocket: rstream, riostream, rcopy, and udpong, whose datagrams find
 * no way over RoCE. Not run: `-T a`, with which two unmodified programs stall one another now and then, and the whole
 * ladder of sizes, which takes minutes.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type InteropCell, type IpFamily, OPCODES, type PathMtu, packets } from '../cell.ts';

export function rsocketCells(): InteropCell[] {
  return [
    ...STREAMS.map(([options, row]) => stream('rstream', options, row, 'IPv4', 1024)),
    ...OTHER_PATHS.map(([ip, mtu]) => stream('rstream', LARGE[0], LARGE[1], ip, mtu)),
    ...IO_STREAMS.map(([options, row]) => stream('riostream', options, row, 'IPv4', 1024)),
    ...OTHER_PATHS.map(([ip, mtu]) => stream('riostream', IO_LARGE[0], IO_LARGE[1], ip, mtu)),
    copy('IPv4'),
    copy('IPv6'),
    ...IP_FAMILIES.map(udpong),
  ];
}

function stream(tool: 'rstream' | 'riostream', options: string, row: string, ip: IpFamily, mtu: PathMtu): InteropCell {
  const prints = [`^custom +${row} `];
  const words = options.replace(/[^a-zA-Z0-9]+/g, '');
  return {
    name: `${tool}-${words}-${ip}-mtu${mtu}`.toLowerCase(),
    tool,
    options,
    ip,
    interfaceMtu: mtu,
    pathMtu: mtu,
    inCi: mtu === 1024 && ip === 'IPv4' && (options === LARGE[0] || options === IO_LARGE[0]),
    server: ({ server }) => ({ command: `${tool} -b ${server} ${options}`, prints, ready: { listen: 7471 } }),
    client: ({ server }) => ({ command: `${tool} -s ${server} ${options}`, prints }),
    wire: [packets('Data and credits are WRITEs with immediate data.', OPCODES.rcWriteImmediate, { min: 2 })],
  };
}

function copy(ip: IpFamily): InteropCell {
  const opened = (name: string, bytes: number): string =>
    `^opening: ${name}, transferring\\.\\.\\.${bytes} bytes\\.\\.\\.closing\\.\\.\\.done`;
  return {
    name: `rcopy-${ip}`.toLowerCase(),
    tool: 'rcopy',
    options: '',
    ip,
    interfaceMtu: 1024,
    pathMtu: 1024,
    inCi: ip === 'IPv4',
    // Neither server ever ends.
    server: ({ kind }) =>
      kind === 'ours'
        ? {
            command: `rcopy --into ${received()}`,
            prints: [opened('dst.bin', GUEST_FILE_BYTES)],
            exit: 'any',
            ready: LISTENS,
          }
        : { command: 'rcopy', prints: ['client: ', 'closing\\.\\.\\.done'], exit: 'any', ready: LISTENS },
    client: ({ kind, server }) => {
      if (kind === 'ours')
        return {
          command: `rcopy ${OUR_FILE} ${server}:/tmp/copy.bin`,
          prints: ['^\\d+ bytes in .* seconds = .* Gb/sec'],
        };
      // A colon ends the name of the server: an address of IPv6 needs a name.
      const make = `head -c ${GUEST_FILE_BYTES} /dev/urandom > /tmp/src.bin; echo '${server} server' > /etc/hosts`;
      return {
        command: `${make}; rcopy /tmp/src.bin server:/tmp/dst.bin`,
        prints: ['closing\\.\\.\\.done', `^${GUEST_FILE_BYTES} bytes in `],
      };
    },
    arrived: { command: 'sha256sum < /tmp/copy.bin', prints: ourSum },
    ...(ip === 'IPv4' ? {} : { without: { server: 'its server listens on IPv4 only' } }),
  };
}

function udpong(ip: IpFamily): InteropCell {
  return {
    name: `udpong-${ip}`.toLowerCase(),
    tool: 'udpong',
    options: '-S 1000 -C 20',
    ip,
    interfaceMtu: 1024,
    pathMtu: 1024,
    inCi: ip === 'IPv4',
    server: ({ kind, server }) => ({
      command: `udpong -b ${server}`,
      exit: 'any',
      ...(kind === 'ours' ? {} : { readyWhen: UDPONG_LISTENS }),
    }),
    client: ({ server }) => ({ command: `udpong -s ${server} -S 1000 -C 20`, prints: ['^custom +1000 '] }),
    partnerless: 'datagrams of rsockets are not spoken here',
    limit: 'rsocket makes address handles without GRH, which RoCE does not have: `rconnect: No such file or directory`',
  };
}

let folder: string | undefined;

/** Where our rcopy puts what it receives; gone with this process. */
function received(): string {
  if (folder !== undefined) return folder;
  const made = mkdtempSync(join(tmpdir(), 'roce-rcopy-'));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  folder = made;
  return made;
}

function ourSum(): string {
  return `^${createHash('sha256').update(readFileSync(OUR_FILE)).digest('hex')} `;
}

/** A file that every installation has. */
const OUR_FILE = fileURLToPath(import.meta.url);
const GUEST_FILE_BYTES = 300_001;
const UDPONG_LISTENS = "until grep -q ':1C06 ' /proc/net/udp /proc/net/udp6; do usleep 20000; done";
const LISTENS = { listen: 7427 };

const IP_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const OTHER_PATHS: readonly (readonly [IpFamily, PathMtu])[] = [
  ['IPv4', 256],
  ['IPv4', 512],
  ['IPv4', 2048],
  ['IPv4', 4096],
  ['IPv6', 1024],
  ['IPv6', 4096],
];
/** Options, and the row that both ends print. */
const LARGE = ['-S 300000 -C 4 -I 2 -T v', '292k +4 +2 +4\\.5m'] as const;
const STREAMS: readonly (readonly [string, string])[] = [
  ['-S 64 -C 1 -I 200 -T v', '64 +1 +200 +25k'],
  ['-S 1024 -C 10 -T v', '1k +10 +1 +20k'],
  LARGE,
  ['-S 3000 -C 50 -T b -T v', '2\\.9k +50 +1 +292k'],
  ['-S 3000 -C 50 -T v -B 2048', '2\\.9k +50 +1 +292k'],
  ['-S 64 -C 1 -I 500 -k 1', '64 +1 +500 +'],
];
const IO_LARGE = ['-S 200000 -C 2 -I 3 -T v', '195k +2 +3 +2\\.2m'] as const;
const IO_STREAMS: readonly (readonly [string, string])[] = [['-S 4096 -C 10 -I 5 -T v', '4k +10 +5 +400k'], IO_LARGE];
