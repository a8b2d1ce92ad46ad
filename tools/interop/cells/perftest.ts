/**
 * Cells of perftest: bandwidth and latency of WRITE, READ, SEND and atomics, over RC, UC and UD, introduced over TCP
 * and by rdma_cm (`-R`), by sizes, by path MTU, over IPv4 and IPv6. What perftest itself does not have is told as such.
 */
import {
  type CellCommand,
  type CellSide,
  fullPackets,
  type InteropCell,
  type IpFamily,
  type PathMtu,
  packets,
} from '../cell.ts';

type Verb = 'write' | 'read' | 'send' | 'atomic';
type Test = 'bw' | 'lat';
type Service = 'RC' | 'UC' | 'UD';

/** One cell; what is left out is RC, over TCP and IPv4, with the largest path MTU. */
interface Choice {
  readonly verb: Verb;
  readonly test: Test;
  readonly service?: Service;
  readonly size?: number;
  readonly atomic?: string;
  readonly cm?: boolean;
  readonly ip?: IpFamily;
  /** By `-m`. */
  readonly mtu?: PathMtu;
  /** By the interface, as for connections of rdma_cm. */
  readonly interfaceMtu?: PathMtu;
  readonly inCi?: boolean;
  readonly without?: string;
}

export function perftestCells(): InteropCell[] {
  return VERBS.flatMap((verb) => TESTS.flatMap((test) => [...ofVerb(verb, test), ...absent(verb, test)].map(cellOf)));
}

function ofVerb(verb: Verb, test: Test): Choice[] {
  const program = { verb, test };
  if (verb === 'atomic')
    return [
      ...ATOMICS.map((atomic) => ({ ...program, atomic, inCi: atomic === ATOMICS[test === 'bw' ? 0 : 1] })),
      ...ATOMICS.map((atomic) => ({ ...program, atomic, cm: true, inCi: test === 'lat' && atomic === ATOMICS[0] })),
      { ...program, atomic: 'FETCH_AND_ADD', ip: 'IPv6' },
    ];
  const sizes = SIZES.map((size): Choice => ({ ...program, size, inCi: size === 65_536 }));
  const overCm = SIZES.map(
    (size): Choice => ({
      ...program,
      size,
      cm: true,
      inCi: size === 4096 && test === (verb === 'read' ? 'lat' : 'bw'),
    }),
  );
  const choices = [...sizes, ...overCm, { ...program, size: 65_536, ip: 'IPv6' as const }];
  if (test === 'bw') {
    choices.push(...SMALL_MTUS.map((mtu) => ({ ...program, size: 65_536, mtu })));
    choices.push(...SMALL_MTUS.map((interfaceMtu) => ({ ...program, size: 65_536, cm: true, interfaceMtu })));
  }
  if (verb !== 'read') choices.push(...unreliable(verb, test));
  return choices;
}

function unreliable(verb: 'write' | 'send', test: Test): Choice[] {
  const uc = { verb, test, service: 'UC' as const };
  const choices: Choice[] = [
    ...SIZES.map((size) => ({ ...uc, size, inCi: size === 4096 && (verb === 'write') === (test === 'lat') })),
    { ...uc, size: 65_536, ip: 'IPv6' },
    { ...uc, size: 65_536, mtu: 256 },
  ];
  if (verb === 'write') return choices;
  const ud = { verb, test, service: 'UD' as const };
  const datagrams = [1, 4096].flatMap((size) => [
    { ...ud, size, inCi: size === 4096 && test === 'bw' },
    { ...ud, size, cm: true, inCi: size === 4096 && test === 'lat' },
  ]);
  return [...choices, ...datagrams, { ...ud, size: 4096, ip: 'IPv6' }];
}

/** What a reader may look for and perftest does not have. */
function absent(verb: Verb, test: Test): Choice[] {
  const program = { verb, test };
  const hasUc = verb === 'write' || verb === 'send';
  const size = verb === 'atomic' ? {} : { size: 4096 };
  const all: Choice[] = [
    { ...program, ...size, cm: true, ip: 'IPv6', without: 'perftest 4.5 resolves names and addresses of IPv4 only' },
    { ...program, ...size, service: 'UC', cm: hasUc, without: hasUc ? 'UC is not supported in librdmacm' : NO_UC },
  ];
  if (verb !== 'send') all.push({ ...program, ...size, service: 'UD', without: 'datagrams carry SEND only' });
  return all;
}

function cellOf(choice: Choice): InteropCell {
  const { verb, test, service = 'RC', size, atomic, cm = false, ip = 'IPv4', mtu, interfaceMtu = 4096 } = choice;
  const tool = `ib_${verb}_${test}`;
  const iterations = size !== undefined && size > 65_536 ? 5 : 20;
  const options = [
    ...(cm ? ['-R'] : []),
    ...(service === 'RC' ? [] : [`-c ${service}`]),
    ...(size === undefined ? [] : [`-s ${size}`]),
    ...(atomic === undefined ? [] : [`-A ${atomic}`]),
    ...(mtu === undefined ? [] : [`-m ${mtu}`]),
  ];
  const pathMtu = mtu ?? interfaceMtu;
  const bytes = size ?? ATOMIC_BYTES;
  const words = [tool, ...options, ip, String(interfaceMtu)].join('-').replace(/ /g, '').replaceAll('_', '-');
  return {
    name: words.replaceAll('--', '-').replace('CMP-AND-SWAP', 'cas').replace('FETCH-AND-ADD', 'fa').toLowerCase(),
    tool,
    options: options.join(' '),
    ip,
    interfaceMtu,
    pathMtu,
    inCi: choice.inCi === true || choice.without !== undefined,
    ...parties(tool, [...options, `-n ${iterations}`, ...(test === 'bw' ? ['-t 5'] : []), '-u 18'], {
      row: `^ *${bytes} +${iterations} +[0-9.]+ `,
      serverIsSilent: test === 'lat' && (verb === 'read' || verb === 'atomic'),
    }),
    wire: wireOf(verb, service, bytes, iterations, pathMtu),
    ...(cm ? { racy: RACY } : {}),
    ...(choice.without === undefined ? {} : { without: { server: choice.without, client: choice.without } }),
  };
}

function parties(
  tool: string,
  options: readonly string[],
  { row, serverIsSilent }: { readonly row: string; readonly serverIsSilent: boolean },
): Pick<InteropCell, 'server' | 'client'> {
  const command = ({ kind, gid }: CellSide): string =>
    [tool, ...(kind === 'stock' ? ['-d rxe0'] : []), `-x ${gid} -F`, ...options].join(' ');
  const server = (side: CellSide): CellCommand => ({
    command: command(side),
    prints: serverIsSilent ? [] : [row],
    ready: { listen: 18_515 },
  });
  return { server, client: (side) => ({ command: `${command(side)} ${side.meeting}`, prints: [row] }) };
}

function wireOf(
  verb: Verb,
  service: Service,
  bytes: number,
  iterations: number,
  mtu: PathMtu,
): NonNullable<InteropCell['wire']> {
  const base = service === 'UC' ? UC_BASE : 0;
  const min = { min: iterations };
  const isLong = bytes > mtu;
  switch (verb) {
    case 'atomic':
      return [packets('One operation each.', [19, 20], min)];
    case 'read':
      return [packets('One READ each.', [12], min), ...(isLong ? [fullPackets(13, mtu, AETH_BYTES)] : [])];
    case 'write':
      return [
        packets(
          'One message each.',
          (isLong ? [6] : [10]).map((code) => base + code),
          min,
        ),
        ...(isLong ? [fullPackets(base + 6, mtu, RETH_BYTES)] : []),
      ];
    case 'send':
      if (service === 'UD') return [packets('One datagram each.', [100], min)];
      return [
        packets(
          'One message each.',
          (isLong ? [0] : [4]).map((code) => base + code),
          min,
        ),
        ...(isLong ? [fullPackets(base, mtu)] : []),
      ];
  }
}

const VERBS: readonly Verb[] = ['write', 'read', 'send', 'atomic'];
const TESTS: readonly Test[] = ['bw', 'lat'];
const SIZES: readonly number[] = [1, 4096, 65_536, 1_048_576];
const SMALL_MTUS: readonly PathMtu[] = [256, 512, 1024, 2048];
const ATOMICS: readonly string[] = ['FETCH_AND_ADD', 'CMP_AND_SWAP'];
const NO_UC = 'UC has neither READ nor atomics';
const RACY =
  'its server takes introductions, ends to listen, and listens anew for the queue pairs: its client gives up where it is faster';
/** Opcodes of UC are those of RC and 0x20. */
const UC_BASE = 0x20;
const ATOMIC_BYTES = 8;
const RETH_BYTES = 16;
const AETH_BYTES = 4;
