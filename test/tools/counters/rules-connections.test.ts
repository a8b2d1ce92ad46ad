/**
 * Goal: what is said of connections and of the wire: refusals, silence, drops, damage, links; and what of a failure at
 * one port follows from that at another. Method: as in `rules-network.test.ts`.
 */
import { describe, expect, it } from 'vitest';
import { type Growth, grown, said } from './grown.ts';

describe('connection-refused', () => {
  it.each<[string, Growth, string]>([
    [
      'error',
      { 'cm_rx_msgs/rej': 1, 'cm_rx_msgs/rep': 0 },
      'n1 mlx5_0/1 was refused once when it asked for a connection, and nothing succeeded.',
    ],
    [
      'note',
      { 'cm_rx_msgs/rej': 3, 'cm_rx_msgs/rep': 1 },
      'n1 mlx5_0/1 was refused 3 times when it asked for a connection; others succeeded.',
    ],
    [
      'error',
      { 'cm_own/no_listener': 2, 'cm_own/ok': 0 },
      'n1 mlx5_0/1 refused 2 times what asked for a connection: nobody listens there, or not to this, ' +
        'and nothing succeeded.',
    ],
    [
      'note',
      { 'cm_own/no_listener': 1, 'cm_own/refused': 1, 'cm_own/ok': 4 },
      'n1 mlx5_0/1 refused 2 times what asked for a connection: nobody listens there, or not to this; others succeeded.',
    ],
    // Whether anything succeeded is not counted in what was pasted.
    ['error', { 'cm_rx_msgs/rej': 1 }, 'n1 mlx5_0/1 was refused once when it asked for a connection.'],
  ])('%s: %j', (severity, growth, text) => {
    expect(said('connection-refused', [growth])).toMatchObject({ severity, text });
  });

  it('what this end accepts is no success of what it asks for', () => {
    expect(said('connection-refused', [{ 'cm_rx_msgs/rej': 1, 'cm_rx_msgs/rep': 0, 'cm_own/ok': 9 }])?.severity).toBe(
      'error',
    );
  });
});

describe('connect-timeout', () => {
  it.each<[string, Growth, string]>([
    [
      'error',
      { 'cm_own/backlog_full': 2, 'cm_tx_retries/req': 5 },
      'n1 mlx5_0/1 dropped 2 times what asked for a connection, because too many were waiting.',
    ],
    [
      'error',
      { 'cm_tx_retries/req': 1, 'cm_rx_msgs/rep': 0, 'cm_rx_msgs/rej': 0 },
      'n1 mlx5_0/1 repeated its requests for connections once, and nothing was answered.',
    ],
    [
      'note',
      { 'cm_tx_retries/req': 7, 'cm_rx_msgs/rep': 1 },
      'n1 mlx5_0/1 repeated its requests for connections 7 times, 1 was answered.',
    ],
    [
      'note',
      { 'cm_tx_retries/req': 7, 'cm_rx_msgs/rep': 1, 'cm_rx_msgs/rej': 1 },
      'n1 mlx5_0/1 repeated its requests for connections 7 times, 2 were answered.',
    ],
    // Whether they were answered is not counted in what was pasted.
    ['warning', { 'cm_tx_retries/req': 3 }, 'n1 mlx5_0/1 repeated its requests for connections 3 times.'],
    ['note', { 'cm_tx_retries/req': 2 }, 'n1 mlx5_0/1 repeated its requests for connections 2 times.'],
    [
      'warning',
      { 'cm_rx_duplicates/req': 3 },
      'n1 mlx5_0/1 was asked the same 3 times again: its answers did not arrive, or were late.',
    ],
    [
      'note',
      { 'cm_rx_duplicates/req': 2 },
      'n1 mlx5_0/1 was asked the same 2 times again: its answers did not arrive, or were late.',
    ],
  ])('%s: %j', (severity, growth, text) => {
    expect(said('connect-timeout', [growth])).toMatchObject({ severity, text });
  });

  it('has as evidence what it says was answered', () => {
    const growth = { 'cm_tx_retries/req': 7, 'cm_rx_msgs/rep': 1, 'cm_rx_msgs/rej': 2 };
    expect(said('connect-timeout', [growth])?.evidence).toEqual({
      'cm-request-retry': 7,
      'cm-reply-received': 1,
      'cm-reject-received': 2,
      seconds: 60,
    });
  });
});

describe('the wire', () => {
  it.each<[string, string, Growth, string]>([
    [
      'counter/discards',
      'warning',
      { rx_discards_phy: 6, tx_discards_phy: 4 },
      'n1 mlx5_0/1 dropped 6 packets that came in and 4 packets that were to leave for lack of buffer or because ' +
        'the way out was blocked.',
    ],
    [
      'counter/discards',
      'note',
      { rx_discards_phy: 9 },
      'n1 mlx5_0/1 dropped 9 packets that came in for lack of buffer or because the way out was blocked.',
    ],
    [
      'counter/discards',
      'note',
      { tx_discards_phy: 1 },
      'n1 mlx5_0/1 dropped 1 packet that was to leave for lack of buffer or because the way out was blocked.',
    ],
    [
      'counter/frame-errors',
      'warning',
      { rx_crc_errors_phy: 10 },
      'n1 mlx5_0/1 received 10 damaged Ethernet frames, and dropped them.',
    ],
    [
      'counter/frame-errors',
      'note',
      { rx_crc_errors_phy: 9 },
      'n1 mlx5_0/1 received 9 damaged Ethernet frames, and dropped them.',
    ],
    [
      'counter/frame-errors',
      'note',
      { rx_symbol_err_phy: 1 },
      'n1 mlx5_0/1 received 1 damaged Ethernet frame, and dropped it.',
    ],
    ['counter/symbol-errors', 'note', { symbol_error: 1 }, 'The link of n1 mlx5_0/1 had 1 symbol error.'],
    ['counter/symbol-errors', 'note', { symbol_error: 1200 }, 'The link of n1 mlx5_0/1 had 1,200 symbol errors.'],
    ['counter/link-down', 'warning', { link_downed: 1 }, 'The link of n1 mlx5_0/1 went down once.'],
    ['counter/link-down', 'warning', { link_down_events_phy: 3 }, 'The link of n1 mlx5_0/1 went down 3 times.'],
  ])('%s, %s: %j', (id, severity, growth, text) => {
    const { findings } = grown([growth]);
    expect(findings).toMatchObject([{ id, severity, text, ports: ['n1 mlx5_0/1'] }]);
    // No capture shows these, so they bring advice of their own.
    expect(findings[0]?.advice).toHaveLength(1);
    expect(findings[0]?.commands).toEqual([]);
  });
});

describe('first-error', () => {
  const silent = { req_transport_retries_exceeded: 1 };

  it.each([
    ['rnr-exceeded', 'req_rnr_retries_exceeded'],
    ['access-error', 'req_remote_access_errors'],
    ['invalid-request', 'req_remote_invalid_request'],
    ['operation-error', 'req_remote_operation_errors'],
  ])('retries used up at one port, and at another a failure with the cause %s', (kind, counter) => {
    const finding = grown([silent, { [counter]: 1 }]).findings.find(({ id }) => id === 'first-error');
    expect(finding).toMatchObject({
      severity: 'warning',
      text:
        `Retries were used up at n1 mlx5_0/1, while requests of n2 mlx5_0/1 failed with a cause (${kind}): ` +
        'a queue pair that has failed answers nobody, so look at the cause first.',
      // The cause first.
      ports: ['n2 mlx5_0/1', 'n1 mlx5_0/1'],
      evidence: { causes: [kind], silent: 1 },
    });
  });

  it('of many ports three are named, and how many more there are', () => {
    const causes = [1, 2, 3, 4].map(() => ({ req_remote_access_errors: 1 }));
    const finding = said('first-error', [...causes, silent, silent, silent, silent, silent]);
    expect(finding?.text).toContain(
      'at n5 mlx5_0/1, n6 mlx5_0/1, n7 mlx5_0/1 and 2 more, ' +
        'while requests of n1 mlx5_0/1, n2 mlx5_0/1, n3 mlx5_0/1 and 1 more failed with a cause (access-error)',
    );
    expect(finding?.evidence).toEqual({ causes: ['access-error'], silent: 5 });
  });

  it.each<[string, readonly Growth[]]>([
    ['both are at one port', [{ ...silent, req_remote_access_errors: 1 }]],
    ['nothing was silent', [{ req_remote_access_errors: 1 }, {}]],
    ['nothing has a cause', [silent, silent]],
  ])('nothing is said where %s', (_, hosts) => {
    expect(said('first-error', hosts)).toBeUndefined();
  });
});

it('errors come before warnings, these before notes, and what is about several ports before what is about one', () => {
  const { findings } = grown([
    { rx_icrc_encapsulated: 1 },
    { link_downed: 1, req_remote_access_errors: 1 },
    { req_transport_retries_exceeded: 1 },
  ]);
  expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual([
    'error remote-access-error',
    'error retry-exceeded',
    'warning first-error',
    'warning counter/link-down',
    'note icrc-invalid',
  ]);
});

it('a symptom brings its own advice, without the commands that need a capture', () => {
  const finding = said('rnr-exceeded', [{ req_rnr_retries_exceeded: 1 }]);
  expect(finding?.advice.length).toBeGreaterThan(0);
  const { findings } = grown([{ rx_prio3_pause: 20, rx_prio3_pause_duration: 30_000_000, rx_icrc_encapsulated: 2 }]);
  const commands = findings.flatMap((each) => each.commands);
  expect(commands.length).toBeGreaterThan(0);
  expect(commands.filter((command) => command.includes('FILE'))).toEqual([]);
});
