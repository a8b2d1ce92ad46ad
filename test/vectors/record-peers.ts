/**
 * Records `peers/*.pcap.gz`: programs of others between two guests, on a wire that does nothing to them.
 *
 *     npx tsx test/vectors/record-peers.ts [KERNEL] [NAME...]
 *
 * Owns what is run. Each file is what one program and its peer said from the first packet to the last, as the server's
 * host saw it. Emulated guests are slow, and now and then a timer runs out: a run with alarms in which a packet was sent
 * again is played once more; alarms are printed. The programs of UCX are not in the guests of the lab: their runs need `'ucx-utils': ['ucx_perftest']`
 * among the userland's programs, and its modules among the files that are opened by name.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { LinkType } from '../../pcap/types.ts';
import { analyze } from '../../tools/experiment/findings.ts';
import { KERNELS, type KernelLabel } from '../../tools/lab/recipe.ts';
import { captureOf } from '../../tools/truth/guests/capture.ts';
import { GuestPair, type PairRun, SERVER_ADDRESS, type WireFrame } from '../../tools/truth/guests/pair.ts';

interface PeerRun extends PairRun {
  readonly name: string;
  /** Run before, in the server's guest and the client's. */
  readonly prepare?: readonly [string, string];
}

const PEER_RUNS: readonly PeerRun[] = [
  perftest('ib_write_bw', '-n 8 -s 8192 -q 4'),
  perftest('ib_write_bw-R', '-n 20 -s 16384', 'ib_write_bw -R'),
  perftest('ib_read_bw', '-n 20 -s 16384 -o 4'),
  perftest('ib_send_bw-b', '-n 20 -s 8192 -b', 'ib_send_bw'),
  perftest('ib_send_bw-srq', '-n 8 -s 2048 -q 2 -r 64 --use-srq', 'ib_send_bw'),
  perftest('ib_write_lat', '-n 50 -s 64'),
  perftest('ib_atomic_bw', '-n 50 -A FETCH_AND_ADD'),
  perftest('ib_send_bw-UD', '-n 50 -s 1024 -c UD', 'ib_send_bw'),
  perftest('ib_write_bw-UC', '-n 20 -s 8192 -c UC', 'ib_write_bw'),
  rdmacm(
    'rping',
    `rping -s -a ${SERVER_ADDRESS} -C 5 -S 20000 -v`,
    `rping -c -a ${SERVER_ADDRESS} -C 5 -S 20000 -v`,
    7174,
  ),
  rdmacm(
    'rstream',
    `rstream -b ${SERVER_ADDRESS} -S 3000 -C 50 -T b -T v`,
    `rstream -s ${SERVER_ADDRESS} -S 3000 -C 50 -T b -T v`,
    7471,
  ),
  rdmacm(
    'rstream-large',
    `rstream -b ${SERVER_ADDRESS} -S 200000 -C 2 -I 1 -T v`,
    `rstream -s ${SERVER_ADDRESS} -S 200000 -C 2 -I 1 -T v`,
    7471,
  ),
  rdmacm(
    'riostream',
    `riostream -b ${SERVER_ADDRESS} -S 4096 -C 10 -I 5 -T v`,
    `riostream -s ${SERVER_ADDRESS} -S 4096 -C 10 -I 5 -T v`,
    7471,
  ),
  {
    ...rdmacm(
      'rcopy',
      'rcopy',
      `head -c 100001 /dev/zero > /tmp/src.bin; rcopy /tmp/src.bin ${SERVER_ADDRESS}:/tmp/dst.bin`,
      7427,
    ),
    endless: true,
  },
  {
    ...rdmacm('cmtime', `cmtime -b ${SERVER_ADDRESS} -c 10`, `cmtime -s ${SERVER_ADDRESS} -c 10`, 7471),
    endless: true,
  },
  nvme('nvme', 1),
  nvme('nvme-2-queues', 2),
  ucx('ucx-rc-am', 'rc_verbs', '-t am_lat -s 64 -n 50'),
  ucx('ucx-rc-am-bcopy', 'rc_verbs', '-t am_bw -s 1024 -n 100 -D bcopy'),
  ucx('ucx-rc-put', 'rc_verbs', '-t put_bw -s 8192 -n 20 -D zcopy'),
  ucx('ucx-rc-get', 'rc_verbs', '-t get -s 8192 -n 20 -D zcopy'),
  ucx('ucx-rc-fadd', 'rc_verbs', '-t fadd -s 8 -n 50'),
  ucx('ucx-ud-am', 'ud_verbs', '-t am_bw -s 512 -n 100 -D bcopy'),
];

async function main([kernel, ...names]: readonly string[]): Promise<void> {
  const kernels = KERNELS.filter((label) => kernel === undefined || label === kernel);
  for (const label of kernels) {
    const pair = await GuestPair.boot(label);
    try {
      for (const run of PEER_RUNS) if (names.length === 0 || names.includes(run.name)) await record(pair, label, run);
    } finally {
      await pair.close();
    }
  }
}

async function record(pair: GuestPair, kernel: KernelLabel, run: PeerRun): Promise<void> {
  const [server, client] = run.prepare ?? [];
  for (let turn = 1; turn <= TRIES; turn++) {
    if (server !== undefined) await pair.command(1, server);
    if (client !== undefined) await pair.command(0, client);
    let frames: readonly WireFrame[];
    try {
      frames = await pair.run(run);
    } catch (error) {
      say(`${kernel} ${run.name}: ${String(error).slice(0, 2500)}`);
      continue;
    }
    const { packets } = captureOf(frames, 1);
    const { findings, conversations } = analyze(packets);
    const again = conversations.flatMap(({ ends }) =>
      ends.map(({ requester }) => requester.retransmittedPackets + requester.responses.retransmittedPackets),
    );
    const repeats = again.reduce((sum, each) => sum + each, 0);
    const alarms = findings.filter(({ severity }) => severity !== 'note');
    const file = `peers/${kernel === 'sid' ? '7.2' : kernel}-${run.name}.pcap.gz`;
    const bytes = write(frames, file);
    say(
      `${file}: ${packets.length} packets, ${bytes} bytes, ${repeats} sent again; ${findings.map(({ severity, id, text }) => `${severity} ${id}: ${text}`).join(' | ')}`,
    );
    if (repeats === 0 || alarms.length === 0 || turn === TRIES) return;
  }
}

function write(frames: readonly WireFrame[], file: string): number {
  const writer = new PcapWriter(LinkType.Ethernet);
  const began = Math.floor(Date.now() / 1000);
  const [first] = frames;
  for (const { bytes, side, timeNs } of frames) {
    if (side !== 1) continue;
    const since = Math.round(timeNs - (first?.timeNs ?? 0));
    writer.packet(bytes, 0, bytes.length, began + Math.floor(since / 1e9), since % 1e9);
  }
  const packed = gzipSync(writer.take(), { level: 9 });
  writeFileSync(fileURLToPath(new URL(file, import.meta.url)), packed);
  return packed.length;
}

function perftest(name: string, options: string, tool = name): PeerRun {
  const line = `${tool} -d rxe0 -x 1 -F ${options}`;
  return {
    name,
    server: line,
    ready: "grep -q ':4853 ' /proc/net/tcp /proc/net/tcp6 || rdma resource show cm_id | grep LISTEN | grep -q ':18515'",
    client: `${line} ${SERVER_ADDRESS}`,
  };
}

function rdmacm(name: string, server: string, client: string, port: number): PeerRun {
  return { name, server, ready: `rdma resource show cm_id | grep LISTEN | grep -q ':${port}'`, client };
}

function nvme(name: string, queues: number): PeerRun {
  const nqn = 'nqn.2026-11.example:ram';
  const target = [
    'modprobe -a nvmet-rdma brd',
    'cd /sys/kernel/config/nvmet',
    `mkdir subsystems/${nqn}`,
    `echo 1 > subsystems/${nqn}/attr_allow_any_host`,
    `mkdir subsystems/${nqn}/namespaces/1`,
    `echo -n /dev/ram0 > subsystems/${nqn}/namespaces/1/device_path`,
    `echo 1 > subsystems/${nqn}/namespaces/1/enable`,
    'mkdir ports/1',
    'echo rdma > ports/1/addr_trtype',
    'echo ipv4 > ports/1/addr_adrfam',
    `echo ${SERVER_ADDRESS} > ports/1/addr_traddr`,
    'echo 4420 > ports/1/addr_trsvcid',
    `ln -s /sys/kernel/config/nvmet/subsystems/${nqn} ports/1/subsystems/${nqn}`,
  ].join(' && ');
  const mount =
    'mkdir -p /sys/kernel/config; grep -q configfs /proc/mounts || mount -t configfs none /sys/kernel/config';
  const id = '4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a';
  const host = `--hostnqn=nqn.2014-08.org.nvmexpress:uuid:${id} --hostid=${id}`;
  const io = [
    `nvme connect -t rdma -a ${SERVER_ADDRESS} -s 4420 -n ${nqn} --nr-io-queues=${queues} --queue-size=16 ${host} || { dmesg | tail -n 5 >&2; exit 1; }`,
    'for i in $(seq 100); do [ -b /dev/nvme0n1 ] && break; usleep 50000; done',
    'dd if=/dev/urandom of=/dev/nvme0n1 bs=4096 count=1 oflag=direct',
    'dd if=/dev/zero of=/dev/nvme0n1 bs=16384 seek=1 count=4 oflag=direct',
    'dd if=/dev/nvme0n1 of=/dev/null bs=16384 count=8 iflag=direct',
    'dd if=/dev/nvme0n1 of=/dev/null bs=4096 count=8 iflag=direct',
    `nvme disconnect -n ${nqn}`,
  ].join(' && ');
  return {
    name,
    prepare: [
      `modprobe -a nvmet-rdma brd; ${mount}; [ -d /sys/kernel/config/nvmet/ports/1 ] || { ${target}; }`,
      'modprobe nvme-rdma',
    ],
    server: 'sleep 1000',
    ready: 'true',
    client: io,
    endless: true,
  };
}

function ucx(name: string, transport: string, options: string): PeerRun {
  // rdma_rxe leaves the service level of a completion 0, by which UCX tells IPv4 (docs/uverbs.md).
  const env = 'UCX_IB_GID_INDEX=1 UCX_UD_VERBS_ETH_DGID_CHECK=n';
  return {
    name,
    server: `${env} ucx_perftest`,
    ready: "grep -q ':3419 ' /proc/net/tcp /proc/net/tcp6",
    client: `${env} timeout 30 ucx_perftest ${SERVER_ADDRESS} -x ${transport} -d rxe0:1 ${options} -w 1`,
    endless: true,
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Of each run, at most. */
const TRIES = 3;

await main(process.argv.slice(2));
