/**
 * Goal: whatever engineers have is read, and garbage is no error. Method: small texts of each format, as their tools
 * print them; fast-check for texts of any kind.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { snapshotsOf } from '../../../tools/counters/read.ts';
import type { Snapshot } from '../../../tools/counters/snapshot.ts';

function only(text: string): Snapshot {
  const [snapshot] = snapshotsOf(text, 'test');
  if (snapshot === undefined) throw new Error('no counters were read');
  return snapshot;
}

function values(snapshot: Snapshot, port: string): Record<string, number> {
  return Object.fromEntries(
    [...(snapshot.ports.get(port)?.values ?? [])].map(([name, value]) => [name, Number(value)]),
  );
}

describe('sysfs', () => {
  it('is read as grep prints it, without what is no counter', () => {
    const snapshot = only(
      [
        '/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:17',
        '/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:12',
        'mlx5_0/ports/1/counters/port_xmit_discards:3',
        '/sys/class/infiniband/mlx5_0/ports/1/counters/VL15_dropped:N/A (no PMA)',
        '/sys/class/infiniband/irdma0/ports/1/hw_counters/Nak Sequence Error:5',
        '/sys/class/infiniband_cm/mlx5_0/1/cm_rx_msgs/rej:2',
      ].join('\n'),
    );
    expect(values(snapshot, 'mlx5_0/1')).toEqual({ out_of_sequence: 17, port_xmit_discards: 3, 'cm_rx_msgs/rej': 2 });
    expect(values(snapshot, 'irdma0/1')).toEqual({ 'Nak Sequence Error': 5 });
    expect(snapshot.unreadCount).toBe(0);
  });
});

describe('rdma statistic', () => {
  it('is read as text, over several lines, with names of several words', () => {
    const snapshot = only(
      'link mlx5_0/1 rx_write_requests 4 out_of_buffer 0\n    duplicate_request 7\n\nlink irdma0/1 RNR sent 3 RTO 1\n',
    );
    expect(values(snapshot, 'mlx5_0/1')).toEqual({ rx_write_requests: 4, out_of_buffer: 0, duplicate_request: 7 });
    expect(values(snapshot, 'irdma0/1')).toEqual({ rnr_sent: 3, rto: 1 });
  });

  it('ends at an empty line', () => {
    const snapshot = only('link mlx5_0/1 out_of_buffer 0\n\n    duplicate_request 7\n');
    expect(values(snapshot, 'mlx5_0/1')).toEqual({ out_of_buffer: 0 });
    expect(snapshot.unread).toEqual(['duplicate_request 7']);
  });

  it('leaves out counters of single queue pairs', () => {
    const [snapshot] = snapshotsOf('link mlx5_0/1 cntn 4 type RC out_of_buffer 9\n', 'test');
    expect(snapshot).toBeUndefined();
  });

  it('is read as JSON', () => {
    const snapshot = only('[{"ifindex":0,"ifname":"rxe0","port":1,"sent_pkts":5,"rcvd_pkts":6}]\n');
    expect(values(snapshot, 'rxe0/1')).toEqual({ sent_pkts: 5, rcvd_pkts: 6 });
  });
});

describe('ethtool', () => {
  const ETHTOOL = 'NIC statistics:\n     rx_prio3_pause: 12\n     [0]: rx_ucast_packets: 4\n';

  it('belongs to the interface of the command before it', () => {
    expect(values(only(`$ ethtool -S eth2\n${ETHTOOL}`), 'eth2')).toEqual({
      rx_prio3_pause: 12,
      '[0]: rx_ucast_packets': 4,
    });
  });

  it('joins the only device there is, or the one that the snapshot says', () => {
    const sysfs = 'mlx5_0/ports/1/hw_counters/out_of_sequence:17';
    expect(values(only(`${sysfs}\n# section ethtool -S eth0\n${ETHTOOL}`), 'mlx5_0/1')).toMatchObject({
      rx_prio3_pause: 12,
    });
    const two = only(
      `${sysfs}\nmlx5_1/ports/1/hw_counters/out_of_sequence:1\n# netdev mlx5_1 1 eth0\n# section ethtool -S eth0\n${ETHTOOL}`,
    );
    expect(values(two, 'mlx5_1/1')).toMatchObject({ rx_prio3_pause: 12, out_of_sequence: 1 });
    expect(values(two, 'mlx5_0/1')).toEqual({ out_of_sequence: 17 });
  });
});

it('mlnx_qos says which priorities have PFC', () => {
  const text = [
    '$ mlnx_qos -i eth0',
    'DCBX mode: OS controlled',
    'Priority trust state: dscp',
    'dscp2prio mapping:',
    '\tprio:0 dscp:07,06,05,04,03,02,01,00,',
    'PFC configuration:',
    '\tpriority    0   1   2   3   4   5   6   7',
    '\tenabled     0   0   0   1   0   0   0   0   ',
    '\tbuffer      0   0   0   1   0   0   0   0   ',
    'tc: 0 ratelimit: unlimited, tsa: vendor',
    '\t priority:  1',
    '',
    '$ ethtool -S eth0',
    '  tx_prio3_packets: 5',
  ].join('\n');
  const snapshot = only(text);
  expect(snapshot.ports.get('eth0')?.settings).toEqual({ trust: 'dscp', pfc: [3] });
  expect(snapshot.unreadCount).toBe(0);
});

it('CSV of a switch has a port in each row, and numbers with commas', () => {
  const text = 'Switch,Port,PFC3 Rx,PFC3 Tx,ECN marked,RX_DRP,TX_DRP\nleaf1,Ethernet0,"1,204",0,77,0,9268210\n';
  const snapshot = only(text);
  expect(snapshot.host).toBe('leaf1');
  expect(values(snapshot, 'Ethernet0')).toEqual({
    rx_prio3_pause: 1204,
    tx_prio3_pause: 0,
    SAI_PORT_STAT_ECN_MARKED_PACKETS: 77,
    SAI_PORT_STAT_IF_IN_DISCARDS: 0,
    SAI_PORT_STAT_IF_OUT_DISCARDS: 9268210,
  });
});

it('CSV of several switches is a snapshot of each, with ports of the same names', () => {
  const text = '# date 1767225660\nswitch,port,TX_DRP\nleaf1,Ethernet0,1\nleaf2,Ethernet0,2\nleaf1,Ethernet4,3\n';
  const found = snapshotsOf(text, 'test');
  expect(found.map(({ host, timeMs }) => [host, timeMs])).toEqual([
    ['leaf1', 1767225660000],
    ['leaf2', 1767225660000],
  ]);
  const ports = found.map((each) => [...each.ports.keys()].map((port) => [port, ...Object.values(values(each, port))]));
  expect(ports).toEqual([
    [
      ['Ethernet0', 1],
      ['Ethernet4', 3],
    ],
    [['Ethernet0', 2]],
  ]);
});

it.each([
  ['PFC3 Rx', 'rx_prio3_pause'],
  ['Pause Rx', 'rx_global_pause'],
  ['tx pause', 'tx_global_pause'],
  ['PFC prio 4 pause time rx', 'rx_prio4_pause_duration'],
  ['PFC4 pause duration sent', 'tx_prio4_pause_duration'],
  ['RX_DRP', 'SAI_PORT_STAT_IF_IN_DISCARDS'],
  ['discards', 'SAI_PORT_STAT_IF_IN_DISCARDS'],
  ['egress drops', 'SAI_PORT_STAT_IF_OUT_DISCARDS'],
  ['WRED marked', 'SAI_PORT_STAT_ECN_MARKED_PACKETS'],
  // What is a name already, or says nothing, stays as it is.
  ['SAI_PORT_STAT_PFC_3_RX_PKTS', 'SAI_PORT_STAT_PFC_3_RX_PKTS'],
  ['RX_OK', 'RX_OK'],
])('a column "%s" of a switch is %s', (column, counter) => {
  expect(values(only(`port,${column}\nEthernet0,7\n`), 'Ethernet0')).toEqual({ [counter]: 7 });
});

it('a row of CSV that is short, or has no number, is no counter', () => {
  const snapshot = only('port,RX_DRP,TX_DRP\nEthernet0,1,N/A\nEthernet4,1\n');
  expect(values(snapshot, 'Ethernet0')).toEqual({ SAI_PORT_STAT_IF_IN_DISCARDS: 1 });
  expect(snapshot).toMatchObject({ unreadCount: 1, unread: ['Ethernet4,1'] });
});

it('ethtool without its command and heading: what is known of it, as grep leaves it, at "netdev"', () => {
  const snapshot = only('rx_prio3_pause: 12\nsome_thing: 4\n');
  expect(values(snapshot, 'netdev')).toEqual({ rx_prio3_pause: 12 });
  expect(snapshot.unread).toEqual(['some_thing: 4']);
});

it('counters of a device without a port are those of port 0', () => {
  expect(values(only('/sys/class/infiniband/rxe0/hw_counters/sent_pkts:3\n'), 'rxe0/0')).toEqual({ sent_pkts: 3 });
});

it('a prompt and its command are no counters, in whatever way they are pasted', () => {
  const text = [
    'root@n1:~# sudo ethtool -S eth2 | grep prio3',
    '     rx_prio3_pause: 12',
    '# grep . -r /sys/class/infiniband',
    'mlx5_0/ports/1/counters/link_downed:0',
    '```',
    '$ mlnx_qos -i eth2',
    'Priority trust mode: pcp',
  ].join('\n');
  const snapshot = only(text);
  expect(snapshot.unread).toEqual([]);
  expect(snapshot.ports.get('mlx5_0/1')?.settings).toEqual({ trust: 'pcp' });
});

it('rdma statistic -j leaves out queue pairs, and what is no count', () => {
  const text =
    '[{"ifindex":0,"ifname":"rxe0","port":1,"sent_pkts":5,"rcvd_pkts":-1},' +
    '{"ifname":"rxe0","port":1,"cntn":4,"sent_pkts":9}]\n';
  expect(values(only(text), 'rxe0/1')).toEqual({ sent_pkts: 5 });
});

it('an interface joins the only device, not one of two interfaces', () => {
  const sysfs = 'mlx5_0/ports/1/counters/link_downed:0';
  const two = only(`${sysfs}\n$ ethtool -S eth0\n  rx_prio3_pause: 1\n$ ethtool -S eth1\n  rx_prio3_pause: 2\n`);
  expect([...two.ports.keys()]).toEqual(['mlx5_0/1', 'eth0', 'eth1']);
});

it('the host of a header goes before that of the folder; five unread lines are kept, 80 characters of each', () => {
  const [named] = snapshotsOf('# host n1\nmlx5_0/ports/1/counters/link_downed:0\n', 'test', 'folder');
  expect(named?.host).toBe('n1');
  const lines = [1, 2, 3, 4, 5, 6, 7].map((at) => `${at}${'?'.repeat(100)}`).join('\n');
  const [snapshot] = snapshotsOf(`${lines}\nmlx5_0/ports/1/counters/link_downed:0\n`, 'test', 'folder');
  expect(snapshot).toMatchObject({ host: 'folder', unreadCount: 7 });
  expect(snapshot?.unread.map((line) => line.length)).toEqual([80, 80, 80, 80, 80]);
});

it('a header names host and date, and begins a new snapshot', () => {
  const part = (date: string, value: number): string =>
    `# roce-counters 1\n# host n1\n# date ${date}\nmlx5_0/ports/1/counters/link_downed:${value}\n`;
  const found = snapshotsOf(part('2026-01-01T00:00:00Z', 0) + part('1767225660', 1), 'test');
  expect(found.map(({ host, timeMs }) => [host, timeMs])).toEqual([
    ['n1', 1767225600000],
    ['n1', 1767225660000],
  ]);
});

it('lines that nothing knows are counted, and no text is an error', () => {
  expect(only('what is this?\nmlx5_0/ports/1/counters/link_downed:0\n')).toMatchObject({ unreadCount: 1 });
  const word = fc.constantFrom(
    'link a/1 ',
    '[{',
    '}]',
    'x: 1\n',
    'Port,RX\n',
    '"',
    ',',
    '\n',
    '# date z\n',
    '  a 1\n',
    '#',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(word, fc.string())), (parts) => {
      for (const snapshot of snapshotsOf(parts.join(''), 'test')) expect(snapshot.ports.size).toBeGreaterThan(0);
    }),
  );
});
