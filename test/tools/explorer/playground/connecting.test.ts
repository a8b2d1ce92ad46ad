/**
 * Goal: connections of the playground are made and ended by the stack's connection manager, one message a step, and a
 * link brings back the same bytes. Method: two hosts and a scenario with `cm`; messages, states and notes in their
 * order.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PlaygroundSession, parseScenario, type TimerSnapshot } from '../../../../tools/explorer/playground/index.ts';

const BOTH = [
  { from: 0, to: 1 },
  { from: 0, to: 1 },
];
const RTU_LOST = { interventions: [{ host: 0, packet: 2, action: 'drop' }] };

function session(operations: readonly object[], more: object = {}): PlaygroundSession {
  const made = new PlaygroundSession(parseScenario({ cm: {}, connections: BOTH, operations, ...more }));
  made.run();
  return made;
}

const messages = (of: PlaygroundSession): string[] =>
  of.packets().map(({ from, name, again }) => `${'AB'[from]} ${name}${again ? ' again' : ''}`);
const told = (of: PlaygroundSession, kind: string): string[] =>
  of.steps.flatMap(({ notes }) => notes.filter((note) => note.kind === kind).map(({ text }) => text));
const ends = (of: PlaygroundSession) =>
  of.snapshot().hosts.map(({ queuePairs: [qp] }) => [qp?.stateName, qp?.cm] as const);

describe('a connection', () => {
  it('is made by REQ, REP, RTU and ended by DREQ, DREP; TIMEWAIT follows', () => {
    const made = session([{ kind: 'connect' }, { kind: 'send', atNs: 30_000 }, { kind: 'disconnect', atNs: 60_000 }]);
    expect(messages(made)).toEqual([
      ...['A CM REQ', 'B CM REP', 'A CM RTU', 'A RC SEND Only', 'B RC Acknowledge', 'A CM DREQ', 'B CM DREP'],
    ]);
    expect(told(made, 'connected').map((text) => text[0])).toEqual(['A', 'B']);
    expect(told(made, 'disconnected').map((text) => text[0])).toEqual(['B', 'A']);
    expect(told(made, 'timewait-over').map((text) => text[0])).toEqual(['B', 'A']);
    expect(ends(made)).toEqual([
      ['ERR', undefined],
      ['ERR', undefined],
    ]);
  });

  it('begins where REQ and REP say, with the numbers that they carry', () => {
    const made = session([{ kind: 'connect' }, { kind: 'send', atNs: 30_000 }]);
    const [qpA, qpB] = made.snapshot().hosts.map(({ queuePairs: [qp] }) => qp?.qpn ?? 0);
    const hex = (qpn = 0): string => `QP 0x${qpn.toString(16).padStart(6, '0')}`;
    const [req, rep, , send] = made.packets();
    expect([req?.detail, rep?.detail]).toEqual([`${hex(qpA)}, begin with PSN 5000`, `${hex(qpB)}, begin with PSN 100`]);
    expect([send?.destQpn, send?.psn]).toEqual([qpB, 100]);
  });

  it.each(['rc', 'uc'])('of service %s carries data in both directions', (service) => {
    const back = { kind: 'write', side: 1, atNs: 40_000 };
    const made = session([{ kind: 'connect', side: 1 }, { kind: 'write', atNs: 30_000 }, back], { qp: { service } });
    expect(made.packets().filter(({ name, state }) => name.includes('WRITE') && state === 'delivered')).toHaveLength(2);
    expect(ends(made)).toEqual([
      ['RTS', 'established'],
      ['RTS', 'established'],
    ]);
  });

  it('of which the RTU is lost gets another, because the REP is repeated', () => {
    const made = session([{ kind: 'connect' }], RTU_LOST);
    expect(messages(made)).toEqual(['A CM REQ', 'B CM REP', 'A CM RTU', 'B CM REP again', 'A CM RTU again']);
    expect(ends(made)[1]).toEqual(['RTS', 'established']);
  });

  it('of which the RTU is lost is established by data', () => {
    const made = session([{ kind: 'connect' }, { kind: 'send', atNs: 60_000 }], RTU_LOST);
    expect(messages(made)).not.toContain('B CM REP again');
    expect(told(made, 'connected')[1]).toContain('has no RTU, but data');
  });

  it('that is over can be made anew, once TIMEWAIT is over', () => {
    const made = session([
      { kind: 'connect' },
      { kind: 'disconnect', atNs: 1e6 },
      { kind: 'connect', atNs: 500e6 },
      { kind: 'send', atNs: 501e6 },
    ]);
    expect(told(made, 'completed')).toHaveLength(2);
    expect(ends(made)[0]).toEqual(['RTS', 'established']);
  });

  it('comes back from its link, in every step', () => {
    const operations = [
      { kind: 'connect', answer: 'later' },
      { kind: 'accept', side: 1, atNs: 6e6 },
    ];
    const made = session(operations, RTU_LOST);
    const again = PlaygroundSession.fromLink(made.link());
    expect('session' in again && again.session.steps).toEqual(made.steps);
    expect('session' in again && again.session.pcapng()).toEqual(made.pcapng());
    made.back(3);
    const { position } = made;
    made.run();
    expect(made.steps.slice(0, position)).toEqual('session' in again && again.session.steps.slice(0, position));
    expect('session' in again && again.session.pcapng()).toEqual(made.pcapng());
  });
});

describe('the timers of a connection', () => {
  /** What a side showed, step by step: each timer once. */
  function timers(operations: readonly object[], more: object = {}): (side: number) => TimerSnapshot[] {
    const made = new PlaygroundSession(parseScenario({ cm: CM, connections: BOTH, operations, ...more }));
    const seen: TimerSnapshot[][] = [[], []];
    const look = (): void => {
      for (const [side, { queuePairs }] of made.snapshot().hosts.entries())
        for (const timer of queuePairs[0]?.timers ?? [])
          if (!seen[side]?.some((one) => isDeepStrictEqual(one, timer))) seen[side]?.push(timer);
    };
    for (look(); made.step() !== undefined; look());
    last = made;
    return (side) => seen[side] ?? [];
  }
  const CM = { responseTimeout: 4, retries: 2 };
  let last: PlaygroundSession;
  const sentNs = (name: string): (number | undefined)[] =>
    last.packets().flatMap((packet) => (packet.name === name ? [packet.sentNs] : []));

  it('are those for which a REQ is sent again, and the last, after which nobody asks any more', () => {
    const lost = [1, 2, 3].map((packet) => ({ host: 0, packet, action: 'drop' }));
    const [first, second, end, ...rest] = timers([{ kind: 'connect' }], { interventions: lost })(0);
    expect([first?.name, second?.name, end?.name]).toEqual(['REQ again', 'REQ again', 'no REP']);
    expect([first?.retriesLeft, second?.retriesLeft, end?.retriesLeft]).toEqual([2, 1, undefined]);
    // What they announce happens, at their time.
    expect(sentNs('CM REQ').slice(1)).toEqual([first?.deadlineNs, second?.deadlineNs]);
    expect(sentNs('CM REJ')).toEqual([end?.deadlineNs]);
    expect(rest).toEqual([]);
  });

  it('are those of a REP as well, for as long as nothing shows that its RTU has arrived', () => {
    const of = timers([{ kind: 'connect' }], RTU_LOST);
    expect(of(1).map(({ name, retriesLeft }) => [name, retriesLeft])).toEqual([
      ['REP again', 2],
      ['REP again', 1],
    ]);
    expect(sentNs('CM REP')[1]).toBe(of(1)[0]?.deadlineNs);
    expect(of(0).map(({ name }) => name)).toEqual(['REQ again']);
  });

  it('are TIMEWAIT after the end, and before it a DREQ that nobody answers', () => {
    const drop = [3, 4, 5].map((packet) => ({ host: 0, packet, action: 'drop' }));
    const of = timers([{ kind: 'connect' }, { kind: 'disconnect', atNs: 1e6 }], { interventions: drop });
    const names = of(0).map(({ name }) => name);
    expect(names).toEqual(['REQ again', 'DREQ again', 'DREQ again', 'no DREP', 'TIMEWAIT']);
    expect(sentNs('CM DREQ').slice(1)).toEqual([of(0)[1]?.deadlineNs, of(0)[2]?.deadlineNs]);
    const over = last.steps.filter(({ notes }) => notes.some(({ kind }) => kind === 'timewait-over'));
    expect(over.map(({ timeNs }) => timeNs)).toEqual([of(0)[4]?.deadlineNs]);
  });

  it('are the patience of the side that was asked, and the memory of its refusal', () => {
    const of = timers([
      { kind: 'connect', answer: 'later' },
      { kind: 'reject', side: 1, atNs: 10_000 },
    ]);
    expect(of(1).map(({ name }) => name)).toEqual(['no answer', 'refusal']);
  });
});

describe('an application', () => {
  it('that takes its time lets its peer repeat the REQ, which draws an MRA', () => {
    const made = session([
      { kind: 'connect', answer: 'later' },
      { kind: 'accept', side: 1, atNs: 60e6 },
    ]);
    expect(messages(made)).toEqual([...['A CM REQ', 'A CM REQ again', 'B CM MRA', 'B CM REP', 'A CM RTU']]);
    expect(told(made, 'asked')).toHaveLength(1);
    expect(told(made, 'patience')).toEqual(['A is asked for patience: it waits 68.72 s more']);
  });

  it('may ask for patience itself, for as long as it says', () => {
    const made = session([
      { kind: 'connect', answer: 'later' },
      { kind: 'patience', side: 1, value: 12, atNs: 10_000 },
    ]);
    expect(messages(made).slice(0, 3)).toEqual(['A CM REQ', 'B CM MRA', 'A CM REQ again']);
    // Half of what is asked for with 13.
    expect(made.packets()[2]?.sentNs).toBeGreaterThan(4_096 * 2 ** 12);
    expect(made.packets()[2]?.sentNs).toBeLessThan(4_096 * 2 ** 13);
  });

  it('that never answers is waited for so often, and no longer', () => {
    const lost = [1, 2, 3].map((packet) => ({ host: 0, packet, action: 'drop' }));
    const made = session([{ kind: 'connect' }], { cm: { responseTimeout: 4, retries: 2 }, interventions: lost });
    expect(messages(made)).toEqual(['A CM REQ', 'A CM REQ again', 'A CM REQ again', 'A CM REJ']);
    expect(made.packets().at(-1)?.detail).toBe('Timeout');
    expect(told(made, 'unreachable')).toEqual(['A gives up: no REP has come']);
    expect(ends(made)[0]?.[0]).toBe('ERR');
  });

  it.each([
    ['reject', 'ConsumerDefined'],
    ['nobody', 'InvalidServiceId'],
  ])('with answer %s makes a REJ with reason %s', (answer, reason) => {
    const made = session([{ kind: 'connect', answer }]);
    expect(messages(made)).toEqual(['A CM REQ', 'B CM REJ']);
    expect(told(made, 'rejected')).toEqual([`A is refused: ${reason}`]);
    expect(ends(made).map(([state]) => state)).toEqual(['ERR', 'RESET']);
  });

  it('refuses by hand what it was asked before', () => {
    const made = session([
      { kind: 'connect', answer: 'later' },
      { kind: 'reject', side: 1, atNs: 10_000 },
    ]);
    expect(messages(made)).toEqual(['A CM REQ', 'B CM REJ']);
  });

  it.each([
    [{ kind: 'disconnect' }, 'there is no connection'],
    [{ kind: 'accept', side: 1 }, 'there is no connection'],
    [{ kind: 'patience', side: 1 }, 'there is no connection'],
    [{ kind: 'send' }, 'RESET'],
  ])('that posts %j before there is a connection is told so', (operation, words) => {
    expect(session([operation]).steps[0]?.notes[0]?.text).toContain(words);
  });

  it('cannot connect twice, or accept its own request', () => {
    expect(told(session([{ kind: 'connect' }, { kind: 'connect', atNs: 20_000 }]), 'posted')[1]).toContain('is in RTS');
    expect(told(session([{ kind: 'connect', answer: 'later' }, { kind: 'accept' }]), 'posted')[1]).toContain(
      'nobody has asked this side',
    );
  });
});

it.each([
  [{ operations: [{ kind: 'connect' }] }, 'connect needs cm'],
  [{ cm: {}, operations: [{ kind: 'send', answer: 'later' }] }, 'only a connect is answered'],
  [{ cm: {}, operations: [{ kind: 'connect', answer: 'yes' }] }, 'answer is one of'],
  [{ cm: { responseTimeout: 21 } }, 'cm.responseTimeout is a whole number from 0 to 20'],
  [{ cm: { retries: 16 } }, 'cm.retries is a whole number from 0 to 15'],
  [{ cm: { port: 1 } }, 'port'],
  [{ cm: {}, qp: { service: 'ud' }, operations: [] }, 'datagrams have no connection'],
])('%j is refused in words', (scenario, words) => {
  expect(() => parseScenario(scenario)).toThrow(words);
});
