/** Programs of ibverbs-utils and rdmacm-utils: examples of libibverbs and librdmacm, and sockets over them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProgramCase } from './case.ts';

export const VERBS_CASES: readonly ProgramCase[] = [
  { from: 'ibverbs-utils', lines: ['ibv_devices'], prints: /rxe0\s+[0-9a-f]{16}/, silent: true },
  {
    from: 'ibverbs-utils',
    lines: ['ibv_devinfo -v'],
    prints: /hca_id:\s+rxe0[\s\S]*PORT_ACTIVE[\s\S]*::ffff:10\.0\.0\.1, RoCE v2/,
    silent: true,
  },
  pingpong('rc', '-g 0 -n 100'),
  pingpong('rc', '-g 1 -e -c -n 100'),
  pingpong('uc', '-g 1 -n 100'),
  pingpong('uc', '-g 1 -e -c -n 100'),
  pingpong('ud', '-g 1 -n 100'),
  pingpong('ud', '-g 1 -e -c -n 100'),
  pingpong('srq', '-g 1 -n 100'),
  pingpong('srq', '-g 1 -e -n 100 -q 4'),
  { ...pingpong('rc', '-g 1 -e -c -n 200'), loss: 0.01 },
  {
    ...pingpong('xsrq', '-g 1'),
    prints: /XRC Domain 95/,
    exitCode: 1,
    silent: true,
    refused: 'EOPNOTSUPP: rdma_rxe has no XRC ([interop](interop.md))',
  },
];

export const RDMACM_CASES: readonly ProgramCase[] = [
  byCm('rping -s -C 3 -a 10.0.0.1', 'rping -c -C 3 -v -a 10.0.0.1', /rdma-ping-2/),
  byCm('rping -s -C 3 -a 127.0.0.1', 'rping -c -C 3 -v -a 127.0.0.1', /rdma-ping-2/),
  byCm('rping -s -C 3 -a ::1', 'rping -c -C 3 -v -a ::1', /rdma-ping-2/),
  { ...byCm('rping -s -C 200 -a 10.0.0.1', 'rping -c -C 200 -v -V -a 10.0.0.1', /rdma-ping-199/), loss: 0.01 },
  byCm('rdma_server', 'rdma_client -s 10.0.0.1', /rdma_client: end 0/),
  byCm('rdma_xserver', 'rdma_xclient -s 10.0.0.1', /rdma_xclient: end 0/),
  byCm('ucmatose', 'ucmatose -s 10.0.0.1', /return status 0/),
  byCm('udaddy', 'udaddy -s 10.0.0.1', /return status 0/),
  {
    ...byCm('mckey -m 239.1.1.1 -b 10.0.0.1 -C 1', 'mckey -m 239.1.1.1 -s -b 10.0.0.1 -C 1', /return status 0/),
    note: 'does not listen, so its sender starts five seconds later',
  },
  { ...byCm('cmtime -b 10.0.0.1', 'cmtime -b 10.0.0.1 -s 10.0.0.1 -c 10', /resolve route/), goesOn: true },
  byCm('rstream -S 100000 -C 20 -T v', 'rstream -s 10.0.0.1 -S 100000 -C 20 -T v', /custom +97k/),
  { ...byCm('rstream -S 100000 -C 20 -T v', 'rstream -s 10.0.0.1 -S 100000 -C 20 -T v', /custom +97k/), loss: 0.01 },
  byCm('riostream -S 1000 -C 10', 'riostream -s 10.0.0.1 -S 1000 -C 10', /custom +1000/),
  {
    ...byCm('rcopy', 'rcopy {own}/verbs.ts 10.0.0.1:{dir}/copy', /./),
    note: 'its server goes on, and is ended',
    goesOn: true,
    check: (directory) =>
      readFileSync(join(directory, 'copy')).equals(readFileSync(COPIED)) ? undefined : 'the copy is another file',
  },
  {
    ...byCm('udpong', 'udpong -s 127.0.0.1', /No such file or directory/),
    exitCode: 255,
    silent: true,
    refused: 'ENOENT: datagrams of rsockets have no GRH ([interop](interop.md))',
  },
];

const COPIED = fileURLToPath(import.meta.url);

function pingpong(kind: string, options: string): ProgramCase {
  const server = `ibv_${kind}_pingpong ${options}`;
  return { from: 'ibverbs-utils', lines: [server, `${server} localhost`], prints: /\d+ iters in/ };
}

function byCm(server: string, client: string, prints: RegExp): ProgramCase {
  return { from: 'rdmacm-utils', lines: [server, client], prints };
}
