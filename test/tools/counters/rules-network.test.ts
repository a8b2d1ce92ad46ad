/**
 * Goal: what is said of damage, congestion control, pauses and classes, and how grave it is. Method: each row is what
 * counters of a host (and of its peers) grew by in a minute, under the names of their drivers; thresholds just below
 * and just above.
 */
import { describe, expect, it } from 'vitest';
import { type Growth, grown, type HostOptions, said } from './grown.ts';

describe('icrc-invalid', () => {
  it.each<[Growth, string, string]>([
    [{ rx_icrc_encapsulated: 1 }, 'note', 'n1 mlx5_0/1 dropped 1 packet for a wrong ICRC; no answer is sent for them.'],
    [
      { rx_icrc_encapsulated: 2, rdma_rx_packets: 98 },
      'warning',
      'n1 mlx5_0/1 dropped 2 packets for a wrong ICRC (2 % of what came in); no answer is sent for them.',
    ],
    // Nothing else came in.
    [
      { 'CRC errors': 5, RxUDP: 0 },
      'warning',
      'n1 mlx5_0/1 dropped 5 packets for a wrong ICRC (100 % of what came in); no answer is sent for them.',
    ],
  ])('%j: %s', (growth, severity, text) => {
    const { findings } = grown([growth]);
    expect(findings).toMatchObject([{ id: 'icrc-invalid', severity, text, ports: ['n1 mlx5_0/1'] }]);
  });
});

describe('ecn-misconfigured', () => {
  const judged = (...hosts: readonly Growth[]): [string, string] | undefined => {
    const finding = said('ecn-misconfigured', hosts);
    return finding === undefined ? undefined : [finding.severity, finding.text];
  };

  it.each([
    [8, 'warning'],
    [7, 'note'],
  ])('%i marks and no CNP: %s', (marks, severity) => {
    expect(judged({ np_ecn_marked_roce_packets: marks, np_cnp_sent: 0 })).toEqual([
      severity,
      `n1 mlx5_0/1 received ${marks} packets with the mark Congestion Experienced and sent no CNP: ` +
        'the senders never learn of it.',
    ]);
  });

  it.each<[string, Growth]>([
    ['one CNP was sent', { np_ecn_marked_roce_packets: 1000, np_cnp_sent: 1 }],
    ['CNPs are not counted', { np_ecn_marked_roce_packets: 1000 }],
    ['nothing was marked', { np_ecn_marked_roce_packets: 0, np_cnp_sent: 0 }],
  ])('nothing is said where %s', (_, growth) => {
    expect(judged(growth)).toBeUndefined();
  });

  it.each<[string, Growth, string]>([
    ['warning', { rp_cnp_ignored: 3, rp_cnp_handled: 0 }, 'ignored 3 of 3 CNPs: it goes on at its rate.'],
    ['note', { rp_cnp_ignored: 2, rp_cnp_handled: 0 }, 'ignored 2 of 2 CNPs: it goes on at its rate.'],
    ['warning', { rp_cnp_ignored: 9, rp_cnp_handled: 9 }, 'ignored 9 of 18 CNPs: only the others slow it down.'],
    ['note', { rp_cnp_ignored: 9, rp_cnp_handled: 1000 }, 'ignored 9 of 1,009 CNPs: only the others slow it down.'],
  ])('%s: %j', (severity, growth, text) => {
    expect(judged(growth)).toEqual([severity, `n1 mlx5_0/1 ${text}`]);
  });

  it('CNPs that none of the hosts received', () => {
    expect(said('ecn-misconfigured', [{ np_cnp_sent: 20, rp_cnp_handled: 0 }, { rp_cnp_handled: 0 }])).toMatchObject({
      severity: 'warning',
      text: '20 CNPs were sent (n1 mlx5_0/1), and none of these 2 hosts received one.',
      evidence: { 'cnp-sent': 20, 'cnp-received': 0 },
      limit: 'They may have gone to hosts of which there is no snapshot.',
    });
  });

  it.each<[string, readonly Growth[]]>([
    ['fewer than 20 were sent', [{ np_cnp_sent: 19, rp_cnp_handled: 0 }, { rp_cnp_handled: 0 }]],
    ['one was received', [{ np_cnp_sent: 20, rp_cnp_handled: 0 }, { rp_cnp_handled: 1 }]],
    [
      'one was received, by the name of ionic',
      [{ tx_rdma_cnp_pkts: 20, rx_rdma_cnp_pkts: 0 }, { rx_rdma_cnp_pkts: 1 }],
    ],
    ['there is one host only', [{ np_cnp_sent: 20, rp_cnp_handled: 0 }]],
    ['one host only counts what it receives', [{ np_cnp_sent: 20, rp_cnp_handled: 0 }, { np_cnp_sent: 0 }]],
  ])('but nothing is said where %s', (_, hosts) => {
    expect(judged(...hosts)).toBeUndefined();
  });

  it('of many senders three are named, and how many more there are', () => {
    const hosts = [1, 2, 3, 4, 5].map(() => ({ np_cnp_sent: 10, rp_cnp_handled: 0 }));
    const finding = said('ecn-misconfigured', hosts);
    expect(finding?.text).toBe(
      '50 CNPs were sent (n1 mlx5_0/1, n2 mlx5_0/1, n3 mlx5_0/1 and 2 more), and none of these 5 hosts received one.',
    );
    expect(finding?.ports).toHaveLength(5);
  });
});

describe('pfc-storm', () => {
  const judged = (growth: Growth, options?: HostOptions): [string, string] | undefined => {
    const finding = said('pfc-storm', [growth], options);
    return finding === undefined ? undefined : [finding.severity, finding.text];
  };

  it.each([
    [20, 30_000_000, 'error'],
    [20, 29_999_999, 'warning'],
    [20, 6_000_000, 'warning'],
    [20, 5_999_999, 'note'],
    [19, 60_000_000, 'note'],
  ])('%i pauses, and stopped for %i us of a minute: %s', (frames, us, severity) => {
    for (const side of ['rx', 'tx'])
      expect(judged({ [`${side}_prio3_pause`]: frames, [`${side}_prio3_pause_duration`]: us })?.[0]).toBe(severity);
  });

  it.each<[string, Growth, string]>([
    [
      'stopped in one priority',
      { rx_prio3_pause: 1200, rx_prio3_pause_duration: 12_000_000, rx_prio4_pause: 0 },
      'n1 mlx5_0/1 was stopped: 20 % of the time (1,200 pause frames, priority 3, 20 a second).',
    ],
    [
      'stops others in two priorities, which is as long as the longer of them',
      {
        tx_prio3_pause: 100,
        tx_prio5_pause: 20,
        tx_prio3_pause_duration: 6_000_000,
        tx_prio5_pause_duration: 9_000_000,
      },
      'n1 mlx5_0/1 stopped its link partner: 15 % of the time (120 pause frames, priority 3 and 5, 2 a second).',
    ],
    [
      'a single pause, and no times',
      { rx_pfc_ena_frames_pri3: 1 },
      'n1 mlx5_0/1 was stopped (1 pause frame, priority 3, less than one a second).',
    ],
    [
      'a time, and no frames',
      { SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION: 3_000_000 },
      'n1 mlx5_0/1 was stopped: 5 % of the time (priority 3).',
    ],
    [
      'a time of the whole port, and no frames',
      { rx_global_pause_duration: 3_000_000 },
      'n1 mlx5_0/1 was stopped: 5 % of the time.',
    ],
    [
      'pauses of the whole port',
      { rx_global_pause: 60, rx_global_pause_duration: 3_000_000 },
      'n1 mlx5_0/1 was stopped: 5 % of the time (60 pause frames, 1 a second).',
    ],
    [
      'pauses of the whole port beside priorities without any',
      { rx_global_pause: 60, rx_global_pause_duration: 3_000_000, rx_prio3_pause: 0, rx_prio3_pause_duration: 0 },
      'n1 mlx5_0/1 was stopped: 5 % of the time (60 pause frames, 1 a second).',
    ],
    [
      'both ways',
      { rx_prio3_pause: 60, tx_prio3_pause: 120 },
      'n1 mlx5_0/1 was stopped (60 pause frames, priority 3, 1 a second). ' +
        'n1 mlx5_0/1 stopped its link partner (120 pause frames, priority 3, 2 a second).',
    ],
  ])('%s', (_, growth, text) => {
    expect(judged(growth)?.[1]).toBe(text);
  });

  it('the graver of both sides counts', () => {
    const error = { tx_prio3_pause: 20, tx_prio3_pause_duration: 30_000_000 };
    const warning = { rx_prio3_pause: 20, rx_prio3_pause_duration: 6_000_000 };
    expect(judged({ ...error, ...warning })?.[0]).toBe('error');
    expect(judged({ rx_prio3_pause: 1, ...error })?.[0]).toBe('error');
    expect(judged({ tx_prio3_pause: 1, ...warning })?.[0]).toBe('warning');
    // Where frames are not counted, the time alone says it.
    expect(judged({ rx_prio3_pause_duration: 30_000_000 })?.[0]).toBe('error');
    expect(judged({ rx_prio3_pause: 0, rx_prio3_pause_duration: 30_000_000 })).toBeUndefined();
  });

  it('is no longer than the time there was, and not judged from a hundredth of a second on downwards', () => {
    const growth = { rx_prio3_pause: 20, rx_prio3_pause_duration: 90_000_000 };
    expect(judged(growth)?.[1]).toContain('100 % of the time');
    expect(judged(growth, { seconds: 0.01 })?.[0]).toBe('error');
    expect(judged(growth, { seconds: 0.009 })?.[0]).toBe('note');
  });
});

describe('dscp-mismatch', () => {
  const judged = (growth: Growth, options: HostOptions): [string, string] | undefined => {
    const finding = said('dscp-mismatch', [growth], options);
    return finding === undefined ? undefined : [finding.severity, finding.text];
  };

  it('RoCE that did not leave in the priority with PFC', () => {
    const growth = { rdma_tx_packets: 4000, tx_prio0_packets: 3990, tx_prio3_packets: 10, tx_prio6_packets: 0 };
    expect(judged(growth, { pfc: [3], trust: 'dscp' })).toEqual([
      'warning',
      'n1 mlx5_0/1 sent 4,000 packets of RoCE, and at least 3,990 of them not in priority 3, which alone has PFC here, ' +
        'but in 0.',
    ]);
    expect(said('dscp-mismatch', [growth], { pfc: [3] })?.evidence).toMatchObject({ lossless: 10, outside: 3990 });
  });

  it('with two priorities, and trust in the VLAN tag', () => {
    const growth = { rdma_tx_packets: 20, tx_prio3_packets: 0, tx_prio4_packets: 0 };
    expect(judged(growth, { pfc: [3, 4], trust: 'pcp' })?.[1]).toBe(
      'n1 mlx5_0/1 sent 20 packets of RoCE, and at least 20 of them not in priority 3 or 4, which alone have PFC here. ' +
        'The port takes the priority from the VLAN tag (trust pcp), not from the DSCP.',
    );
  });

  const out = (sent: number, lossless: number): Growth => ({ rdma_tx_packets: sent, tx_prio3_packets: lossless });
  it.each<[string, Growth, HostOptions]>([
    ['fewer than half left elsewhere', out(1000, 501), { pfc: [3] }],
    ['fewer than 20 were sent', out(19, 0), { pfc: [3] }],
    ['there is more in the class than RoCE', out(20, 900), { pfc: [3] }],
    ['no priority has PFC', out(20, 0), { pfc: [] }],
    ['nothing says which priorities have PFC', out(20, 0), {}],
    ['packets are not counted by priority', { rdma_tx_packets: 20 }, { pfc: [3] }],
    ['the priority with PFC is not counted', { rdma_tx_packets: 20, tx_prio0_packets: 20 }, { pfc: [3] }],
  ])('nothing is said where %s', (_, growth, options) => {
    expect(judged(growth, options)).toBeUndefined();
  });

  it('half of them are enough', () => {
    expect(judged(out(1000, 500), { pfc: [3] })?.[0]).toBe('warning');
  });
});

describe('mtu-mismatch', () => {
  it.each<[number, string, string]>([
    [1, 'note', 'n1 mlx5_0/1 dropped 1 packet that was longer than its MTU.'],
    [2, 'error', 'n1 mlx5_0/1 dropped 2 packets that were longer than its MTU.'],
  ])('%i too long: %s', (dropped, severity, text) => {
    expect(said('mtu-mismatch', [{ rx_oversize_pkts_phy: dropped }])).toMatchObject({
      severity,
      text,
      evidence: { oversize: dropped },
    });
  });
});
