/**
 * Goal: datagrams to a group go as the stack sends them, and the switch copies them to every other host. Method: four
 * hosts, of which two join; the counters and completions of each.
 */
import { describe, expect, it } from 'vitest';
import { PlaygroundSession, parseScenario } from '../../../../tools/explorer/playground/index.ts';

const CONNECTIONS = [1, 2, 3].map((to) => ({ from: 0, to }));
const JOINS = [0, 1].map((connection) => ({ kind: 'join', connection, side: 1 }));
const SEND = { kind: 'send', bytes: 256, group: true, atNs: 20_000 };

/** From A to a group; B and C join it, D does not. */
function toGroup(operations: readonly object[], more: object = {}): PlaygroundSession {
  const session = new PlaygroundSession(
    parseScenario({ hosts: 4, qp: { service: 'ud' }, connections: CONNECTIONS, operations, ...more }),
  );
  session.run();
  return session;
}

const datagrams = (session: PlaygroundSession) => session.packets().filter(({ name }) => name.includes('SEND'));
const completed = (session: PlaygroundSession): number[] =>
  session.snapshot().hosts.map(({ completions }) => completions.filter(({ status }) => status === 0).length);

describe('a datagram to a group', () => {
  it('is sent once, copied to every other host, and taken by members only', () => {
    const session = toGroup([...JOINS, SEND]);
    expect(datagrams(session).map(({ to, copyOf }) => [to, copyOf > 0])).toEqual([
      ...[
        [1, false],
        [2, true],
        [3, true],
      ],
    ]);
    expect(datagrams(session).every(({ destQpn }) => destQpn === 0xff_ff_ff)).toBe(true);
    expect(completed(session)).toEqual([1, 1, 1, 0]);
    expect(session.snapshot().hosts.map(({ counters }) => counters['otherGroup'] ?? 0)).toEqual([0, 0, 0, 1]);
  });

  it('goes to every other host from any host', () => {
    const session = toGroup([...JOINS, { ...SEND, connection: 1, side: 1 }]);
    expect(datagrams(session).map(({ from, to }) => [from, to])).toEqual([
      [2, 0],
      [2, 1],
      [2, 3],
    ]);
    // C is a member itself, and receives its own.
    expect(completed(session)).toEqual([0, 1, 2, 0]);
  });

  it('is lost for one member alone when its copy is dropped', () => {
    const session = toGroup([...JOINS, SEND], { interventions: [{ host: 0, packet: 1, action: 'drop' }] });
    expect(completed(session)).toEqual([1, 0, 1, 0]);
  });

  it('is lost where a queue overflows, for that host alone, one copy in a step', () => {
    const sends = { ...SEND, bytes: 4_096, count: 8 };
    const slow = { link: { ratesBps: [0, 1e8], queueBytes: 8_192 }, qp: { service: 'ud', mtu: 4_096 } };
    const session = toGroup([...JOINS, sends], { ...slow, memoryBytes: 65_536 });
    const lostTo = datagrams(session).filter(({ state }) => state === 'lost');
    expect(lostTo.length).toBeGreaterThan(0);
    expect(lostTo.every(({ to, lossReason }) => to === 1 && lossReason === 'queue full')).toBe(true);
    expect(completed(session)[2]).toBe(8);
  });

  it('counts with all its copies on the cable of its sender, which is paused for them', () => {
    const pfc = { xoffBytes: 400, xonBytes: 100 };
    const session = toGroup([...JOINS, { ...SEND, connection: 1, side: 1 }], { link: { pfc } });
    const paused = session.steps.flatMap(({ notes }) => notes).filter(({ kind }) => kind === 'paused');
    expect(paused.map(({ host }) => host)).toEqual([2]);
  });

  it('comes back from its link', () => {
    const session = toGroup([...JOINS, SEND]);
    const again = PlaygroundSession.fromLink(session.link());
    expect('session' in again && again.session.steps).toEqual(session.steps);
    expect('session' in again && again.session.pcapng()).toEqual(session.pcapng());
  });
});

describe('a membership', () => {
  it('is reported, and ends', () => {
    const leave = { kind: 'leave', connection: 1, side: 1, atNs: 10_000 };
    const session = toGroup([...JOINS, leave, SEND]);
    expect(completed(session)).toEqual([1, 1, 0, 0]);
    // Whoever has left posts no receive for it.
    expect(session.snapshot().hosts.map(({ queuePairs }) => queuePairs[0]?.receives.length)).toEqual([0, 0, 0, 0]);
    const reports = session.packets().filter(({ name, copyOf }) => name === 'IGMP report' && copyOf === 0);
    expect(new Set(reports.map(({ from }) => from))).toEqual(new Set([1, 2]));
  });

  it('that there is none cannot end, which is said', () => {
    const session = toGroup([{ kind: 'leave', side: 1 }]);
    expect(session.steps[0]?.notes[0]?.text).toMatch(/cannot post .* not attached/);
  });
});

it.each([
  [{ operations: [{ kind: 'join' }] }, 'rc has no join'],
  [{ operations: [{ kind: 'send', group: true }] }, 'only a datagram goes to a group'],
  [{ qp: { service: 'ud' }, operations: [{ kind: 'recv', group: true }] }, 'only a datagram goes to a group'],
  [{ qp: { service: 'ud' }, link: { shape: 'ring' }, operations: [{ kind: 'join' }] }, 'a ring carries nothing'],
])('%j is refused in words', (scenario, words) => {
  expect(() => parseScenario(scenario)).toThrow(words);
});
