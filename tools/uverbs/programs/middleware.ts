/** Libraries over verbs, and what is built upon them: fio, UCX, libfabric, Open MPI. */
import type { ProgramCase } from './case.ts';

/** As many receives as there are messages: fio has no flow control, and gives up at the first RNR NAK. */
const FIO = 'fio --name=job --ioengine=rdma --port=12345 --bs=32k --size=1m --iodepth=32';

/** Messages of ranks of MPI that are small. */
const MANY = 10_000;
/** What an emulated guest, whose ranks poll on one processor, sends in a minute. */
const FEW = 300;

export const MIDDLEWARE_CASES: readonly ProgramCase[] = [
  ...['write', 'read', 'send'].map(fio),
  ...['rc_verbs,ud_verbs:aux', 'ud_verbs'].flatMap((transport) => [
    ucx(transport, 'tag_lat -n 200'),
    ucx(transport, 'tag_bw -s 65536 -n 50'),
    ucx(transport, 'ucp_put_bw -s 65536 -n 50'),
    ucx(transport, 'ucp_get -s 65536 -n 50'),
    { ...ucx(transport, 'tag_bw -s 65536 -n 50'), loss: 0.01 },
  ]),
  ucx('rc,rdmacm', 'stream_bw -s 4096 -n 100'),
  ucx('rc', 'ucp_fadd -n 100'),
  ucx('ud_verbs UCX_IB_GID_INDEX=2', 'tag_lat -n 100'),
  { from: 'libfabric-bin', lines: ['fi_info -p verbs'], prints: /provider: verbs[\s\S]*domain: rxe0/, silent: true },
  libfabric('verbs -e msg'),
  { ...libfabric('verbs -e dgram'), prints: /\n1k +10 +=10 / },
  {
    ...libfabric("'verbs;ofi_rxm' -e rdm"),
    onRxe: {
      exitCode: 'failure',
      prints: /fi_enable\(\): \S+ ret=-22/,
      silent: true,
      refused: 'EINVAL: RxM asks for a completion queue of 262,144 entries, and 32,767 are the most',
    },
  },
  { ...libfabric("'verbs;ofi_rxm' -e rdm"), loss: 0.01 },
  // Seven retries in vain end a program: with 20 ms each, two ranks gave up on a machine that was busy otherwise.
  ...[2, 4].flatMap((ranks) => [mpi(ranks), { ...mpi(ranks, MANY, withTimeout(100)), loss: 0.01 }]),
  ...[2, 4].map((ranks) => mpi(ranks, FEW)),
  { ...mpi(2, FEW, withTimeout(500)), loss: 0.01 },
];

/** Ranks of MPI that send so little that a guest can be their other host. */
export const FEW_MESSAGES: readonly ProgramCase[] = MIDDLEWARE_CASES.filter(
  ({ from, lines }) => from === 'openmpi-bin' && lines[0].endsWith(` ${FEW}`),
);

/** Its client is the one that writes, whatever verb does it. */
function fio(verb: string): ProgramCase {
  return {
    from: 'fio',
    lines: [`${FIO} --rw=read`, `${FIO} --hostname=10.0.0.1 --verb=${verb} --rw=write`],
    prints: /io=1024KiB/,
    mayFind: ['read-stall'],
  };
}

function ucx(transport: string, test: string): ProgramCase {
  const server = `env UCX_TLS=${transport} ucx_perftest`;
  return { from: 'ucx-utils', lines: [server, `${server} localhost -t ${test}`], prints: /Final:/ };
}

function libfabric(provider: string): ProgramCase {
  const server = `fi_pingpong -p ${provider} -I 10`;
  return { from: 'libfabric-bin', lines: [server, `${server} 127.0.0.1`], prints: /\n1m +10 +=10 / };
}

function mpi(ranks: number, messages = MANY, options = ''): ProgramCase {
  const transports = `-x UCX_TLS=rc_verbs,ud_verbs:aux,self${options}`;
  const program = `/usr/bin/python3 {own}/allreduce.py ${messages}`;
  return {
    from: 'openmpi-bin',
    lines: [`mpirun --allow-run-as-root --oversubscribe -n ${ranks} --mca pml ucx ${transports} ${program}`],
    prints: new RegExp(`${ranks} ranks agree`),
  };
}

function withTimeout(ms: number): string {
  return ` -x UCX_RC_VERBS_TIMEOUT=${ms}ms`;
}
