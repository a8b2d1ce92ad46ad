/**
 * Goal: what is said about counters that people have posted. Method: their figures, with the thread they are from, as
 * far as they are public; each is one snapshot, since its counters began. What the thread says it was stands beside it.
 */
import { expect, it } from 'vitest';
import { diagnose } from '../../../tools/counters/diagnose.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';

function hwCounters(values: Readonly<Record<string, number>>): string {
  const folder = '/sys/class/infiniband/mlx5_0/ports/1/hw_counters';
  return Object.entries(values)
    .map(([name, value]) => `${folder}/${name}:${value}`)
    .join('\n');
}

interface Posted {
  readonly source: string;
  /** What the thread says it was. */
  readonly cause: string;
  readonly text: string;
  /** Errors and warnings, and a part of what they say. */
  readonly says: readonly (readonly [string, string])[];
}

const POSTED: readonly Posted[] = [
  {
    source: 'https://github.com/NVIDIA/nccl/issues/394',
    cause: 'A hang after the GID index had changed; the sender of the post noticed errors among the counters.',
    text: hwCounters({
      duplicate_request: 0,
      implied_nak_seq_err: 0,
      lifespan: 10,
      local_ack_timeout_err: 91316,
      np_cnp_sent: 17269947,
      np_ecn_marked_roce_packets: 11293938,
      out_of_buffer: 0,
      out_of_sequence: 6140236,
      packet_seq_err: 929974,
      req_cqe_error: 2,
      req_cqe_flush_error: 0,
      req_remote_access_errors: 0,
      req_remote_invalid_request: 0,
      resp_cqe_error: 20540,
    }),
    // Losses in both directions and timeouts; nothing about GIDs is in counters. ECN works.
    says: [
      ['retry-exceeded', 'ran out 91,316 times; whether retries were used up is not counted here'],
      ['sequence-error', 'received 6,140,236 packets out of sequence, and mlx5_0/1 was told 929,974 times'],
    ],
  },
  {
    source: 'https://github.com/bytedance/byteps/issues/179',
    cause: 'RDMA slower than TCP with two senders to one; all traffic was in priority 0.',
    text: `ethtool -S enp178s0f0 |grep prio
     rx_prio0_bytes: 88178050405854
     rx_prio0_packets: 420006709813
     tx_prio0_bytes: 14056302074308
     tx_prio0_packets: 40316741528
     rx_prio3_bytes: 0
     rx_prio3_packets: 0
     tx_prio3_bytes: 0
     tx_prio3_packets: 0
${hwCounters({
  duplicate_request: 0,
  implied_nak_seq_err: 0,
  lifespan: 12,
  local_ack_timeout_err: 2705,
  np_cnp_sent: 1333,
  np_ecn_marked_roce_packets: 0,
})}`,
    says: [['retry-exceeded', 'ran out 2,705 times; whether retries were used up is not counted here']],
  },
  {
    source: 'https://github.com/sonic-net/sonic-buildimage/issues/9193',
    cause: 'A PFC storm was sent to the port, and the watchdog of the switch dropped what was to leave there.',
    text: 'IFACE,RX_OK,RX_ERR,RX_DRP,RX_OVR,TX_OK,TX_ERR,TX_DRP,TX_OVR\nEthernet0,"61,115,381",0,0,0,"51,847,244",0,"9,268,210",0\n',
    says: [['counter/discards', 'Ethernet0 dropped 9,268,210 packets that were to leave']],
  },
];

for (const { source, cause, text, says } of POSTED) {
  it(`${source}: ${cause}`, () => {
    const { findings, remarks } = diagnose(snapshotsOf(text, source));
    const alarms = findings.filter(({ severity }) => severity !== 'note');
    expect(alarms.map(({ id, severity }) => [id, severity])).toEqual(says.map(([id]) => [id, 'warning']));
    for (const [at, [, part]] of says.entries()) expect(alarms[at]?.text).toContain(part);
    expect(remarks.join(' ')).toContain('what is old and what is new cannot be told apart');
  });
}
