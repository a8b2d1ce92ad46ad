/**
 * Goal: the playground's switches pause as PFC does, and only where a scenario asks for it. Method: the same incast
 * with and without pauses; a ring in which every switch waits for the next one; single rules by hand.
 */
import { describe, expect, it } from 'vitest';
import { PlaygroundSession, parseScenario } from '../../../../tools/explorer/playground/index.ts';
import { PauseBook, Ways } from '../../../../tools/explorer/playground/pauses.ts';

const PFC = { xoffBytes: 6_000, xonBytes: 3_000 };

/** Three hosts write to a fourth; the queue has room for 40 KB. */
function incast(link: object): PlaygroundSession {
  const session = new PlaygroundSession(
    parseScenario({
      ...{ hosts: 4, memoryBytes: 65_536, link: { queueBytes: 40_000, ...link } },
      connections: [0, 1, 2].map((from) => ({ from, to: 3 })),
      operations: [0, 1, 2].map((connection) => ({ kind: 'write', connection, bytes: 32_768 })),
    }),
  );
  session.run();
  return session;
}

/** Each host of a ring writes to the one `far` switches further on. */
function ring(far: number, link: object = {}): PlaygroundSession {
  const hosts = [0, 1, 2];
  const session = new PlaygroundSession(
    parseScenario({
      ...{ hosts: 3, memoryBytes: 32_768, link: { shape: 'ring', ...link } },
      connections: hosts.map((from) => ({ from, to: (from + far) % 3 })),
      operations: hosts.map((connection) => ({ kind: 'write', connection, bytes: 32_768 })),
    }),
  );
  session.run();
  return session;
}

const lost = (session: PlaygroundSession): number => session.packets().filter(({ state }) => state === 'lost').length;
const notesOf = (session: PlaygroundSession, kind: string): number =>
  session.steps.flatMap(({ notes }) => notes).filter((note) => note.kind === kind).length;
const successes = (session: PlaygroundSession): number =>
  session.snapshot().hosts.flatMap(({ completions }) => completions.filter(({ status }) => status === 0)).length;

describe('an incast', () => {
  it('loses packets without pauses, and none with them', () => {
    expect(lost(incast({}))).toBeGreaterThan(0);
    const paused = incast({ pfc: PFC });
    expect(lost(paused)).toBe(0);
    expect(paused.packets().some(({ again }) => again)).toBe(false);
    expect(successes(paused)).toBe(3);
  });

  it('ends every pause that it begins, and says so', () => {
    const session = incast({ pfc: PFC });
    expect(notesOf(session, 'paused')).toBeGreaterThan(3);
    expect(notesOf(session, 'resumed')).toBe(notesOf(session, 'paused'));
    expect(session.snapshot().hosts.map(({ paused }) => paused)).toEqual([false, false, false, false]);
    expect(notesOf(incast({}), 'paused')).toBe(0);
  });

  it('lets a paused host put no packet on its wire', () => {
    const session = incast({ pfc: PFC });
    const paused = new Set<number>();
    for (const { kind, host, notes } of session.steps) {
      if (kind === 'sent') expect(paused.has(host)).toBe(false);
      for (const note of notes) {
        if (note.kind === 'paused') paused.add(note.host);
        if (note.kind === 'resumed') paused.delete(note.host);
      }
    }
  });
});

it('a host that is paused while it has nothing to send keeps what is posted then', () => {
  const session = new PlaygroundSession(
    parseScenario({
      ...{ hosts: 4, link: { delayNs: 20_000, pfc: { xoffBytes: 3_000, xonBytes: 1_000 } } },
      connections: [0, 1, 2].map((from) => ({ from, to: 3 })),
      operations: [
        ...[0, 1, 2].map((connection) => ({ kind: 'write', connection, bytes: 8_192 })),
        { kind: 'send', atNs: 30_000 },
      ],
    }),
  );
  session.run();
  const at = (wanted: string): number =>
    session.steps.find(({ notes }) => notes.some(({ kind, host }) => kind === wanted && host === 0))?.timeNs ?? -1;
  expect(at('paused')).toBeGreaterThan(0);
  expect(at('paused')).toBeLessThan(30_000);
  expect(at('resumed')).toBeGreaterThan(30_000);
  const sent = session.packets().find(({ name }) => name.includes('SEND'));
  expect(sent?.sentNs).toBeGreaterThanOrEqual(at('resumed'));
});

describe('a ring of switches', () => {
  it('comes to a standstill when each waits for the next: nothing lost, nothing done', () => {
    const session = ring(2, { pfc: PFC });
    expect([lost(session), successes(session)]).toEqual([0, 0]);
    const { end, hosts, inFlight } = session.snapshot();
    expect(end).toBe('silent');
    expect(hosts.map(({ paused, switchPaused }) => paused && switchPaused)).toEqual([true, true, true]);
    expect(inFlight.length).toBeGreaterThan(0);
  });

  it.each([
    ['with nothing but the next host to go to', ring(1, { pfc: PFC })],
    ['without pauses', ring(2)],
  ])('carries everything %s', (_, session) => {
    expect([lost(session), successes(session)]).toEqual([0, 3]);
  });

  it('takes half of the delay for each cable: two to a neighbour through its switches, three', () => {
    const oneWay = (shape: string, to: number): number => {
      const session = new PlaygroundSession(
        parseScenario({ hosts: 3, link: { shape, delayNs: 2_000 }, connections: [{ from: 0, to }] }),
      );
      session.run();
      const [first] = session.packets();
      return Math.floor(((first?.arrivesNs ?? 0) - (first?.sentNs ?? 0)) / 1_000);
    };
    expect([oneWay('star', 2), oneWay('ring', 1), oneWay('ring', 2)]).toEqual([2, 3, 4]);
  });

  it('comes back from its link', () => {
    const session = ring(2, { pfc: PFC });
    const again = PlaygroundSession.fromLink(session.link());
    expect('session' in again && again.session.steps).toEqual(session.steps);
  });
});

describe('the count of a cable', () => {
  it('asks once above xoff, and once more after it has come down to xon', () => {
    const book = new PauseBook({ xoffBytes: 100, xonBytes: 40 });
    expect([book.enters(0, 100), book.enters(1, 90), book.enters(0, 1), book.enters(0, 9)]).toEqual([
      ...[false, false, true, false],
    ]);
    expect([book.leaves(0, 60), book.leaves(0, 10), book.leaves(0, 40)]).toEqual([false, true, false]);
    expect(book.enters(0, 101)).toBe(true);
  });

  it('is kept without pauses as well, and asks for none', () => {
    const book = new PauseBook(undefined);
    expect([book.enters(0, 1e9), book.leaves(0, 1e9)]).toEqual([false, false]);
  });
});

describe('the ways', () => {
  it('lead one way round a ring, and to the own host where it is', () => {
    const ways = new Ways(3, 'ring');
    expect([0, 1, 2].map((place) => ways.queueAt(place, 2))).toEqual([3, 4, 2]);
    expect([0, 3, 4, 5].map((cable) => ways.switchOf(cable))).toEqual([0, 1, 2, 0]);
    expect(ways.describe({ cable: 5, paused: true })).toBe(
      'has a switch that is asked by the switch of A to pause (PFC)',
    );
  });
});

it.each([
  [{ shape: 'torus' }, 'link.shape is one of star, ring'],
  [{ pfc: { xoffBytes: -1 } }, 'link.pfc.xoffBytes is a whole number'],
  [{ pfc: { xoffBytes: 10, xonBytes: 11 } }, 'link.pfc.xonBytes is a whole number from 0 to 10'],
  [{ pfc: { quanta: 1 } }, "link.pfc has no field 'quanta'"],
])('a link with %j is refused in words', (link, words) => {
  expect(() => parseScenario({ link })).toThrow(words);
});
