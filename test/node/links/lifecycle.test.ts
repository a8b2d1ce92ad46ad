/**
 * Goal: the states of a link, each way through them: idle, starting, open, closed. Method: a scripted port that opens,
 * fails and ends on command, and a sink that notes what it is told.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { LinkSink } from '../../../src/ground/link.ts';
import { LifecycleLink, type LinkEvents, type LinkPort } from '../../../src/node/links/lifecycle.ts';
import { batchOf, frame } from '../../sim/support.ts';

const BATCH = batchOf(frame(1, 2, 1), frame(1, 2, 2), frame(1, 2, 3));

/** Frames taken by a send: as many as there is room for. */
class ScriptedPort implements LinkPort {
  room = Infinity;
  closes = 0;
  closed = (): void => {};
  readonly #closing = new Promise<void>((resolve) => {
    this.closed = resolve;
  });

  send(batch: FrameBatch, from: number): number {
    const taken = Math.min(batch.count - from, this.room);
    this.room -= taken;
    return taken;
  }

  close(): Promise<void> {
    this.closes++;
    return this.#closing;
  }
}

class ScriptedLink extends LifecycleLink {
  readonly name = 'scripted:0';
  readonly medium = Medium.Ethernet;
  readonly mtu = 1500;
  readonly scripted = new ScriptedPort();
  opens = 0;
  events: LinkEvents | undefined;
  abandoned: AbortSignal | undefined;
  opened: () => void = () => {};
  refused: (cause: unknown) => void = () => {};

  protected override open(events: LinkEvents, abandoned: AbortSignal): Promise<LinkPort> {
    this.opens++;
    this.events = events;
    this.abandoned = abandoned;
    return new Promise((resolve, reject) => {
      this.opened = () => resolve(this.scripted);
      this.refused = reject;
    });
  }
}

class Log implements LinkSink {
  readonly lines: string[] = [];

  receive(batch: FrameBatch): void {
    this.lines.push(`receive ${batch.count}`);
  }

  writable(): void {
    this.lines.push('writable');
  }

  closed(error?: RoceError): void {
    this.lines.push(error === undefined ? 'closed' : `closed: ${error.message}`);
  }
}

/** What becomes of a promise, as text. */
const outcomeOf = (promise: Promise<void>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof RoceError ? `${error.code} ${error.message}` : `${error}`),
  );

function makeLink(): { link: ScriptedLink; log: Log } {
  return { link: new ScriptedLink(), log: new Log() };
}

async function openedLink(): Promise<{ link: ScriptedLink; port: ScriptedPort; events: LinkEvents; log: Log }> {
  const { link, log } = makeLink();
  const starting = link.start(log);
  link.opened();
  await starting;
  if (link.events === undefined) throw new Error('the port was opened');
  return { link, port: link.scripted, events: link.events, log };
}

const LOST = new RoceError('ERR_ROCE_CLOSED', 'scripted:0: the cable is gone');

describe('a link that is idle', () => {
  it('takes and loses what is sent', () => {
    const { link } = makeLink();
    expect(link.send(BATCH, 1)).toBe(2);
    expect(link.scripted.room).toBe(Infinity);
  });

  it('closes without having opened anything, and stays closed', async () => {
    const { link, log } = makeLink();
    await link.close();
    expect(await outcomeOf(link.start(log))).toBe('ERR_ROCE_STATE scripted:0 is started once');
    expect([link.opens, log.lines]).toEqual([0, []]);
  });
});

describe('a link that is starting', () => {
  it('is not started again', async () => {
    const { link, log } = makeLink();
    const first = link.start(log);
    expect(await outcomeOf(link.start(new Log()))).toBe('ERR_ROCE_STATE scripted:0 is started once');
    link.opened();
    await first;
    expect(link.opens).toBe(1);
  });

  it('delivers what arrives before the start has resolved, and loses what is sent', async () => {
    const { link, log } = makeLink();
    const starting = link.start(log);
    link.events?.receive(BATCH);
    expect(link.send(BATCH, 0)).toBe(3);
    link.opened();
    await starting;
    expect([log.lines, link.scripted.room]).toEqual([['receive 3'], Infinity]);
  });

  it('says why it could not be opened', async () => {
    const of = async (cause: unknown): Promise<string> => {
      const { link, log } = makeLink();
      const starting = link.start(log);
      link.refused(cause);
      const outcome = await outcomeOf(starting);
      await link.close();
      expect([link.scripted.closes, log.lines]).toEqual([0, []]);
      return outcome;
    };
    expect(await of(new Error('no such file'))).toBe('ERR_ROCE_LINK_UNAVAILABLE scripted:0: no such file');
    expect(await of('nothing there')).toBe('ERR_ROCE_LINK_UNAVAILABLE scripted:0: nothing there');
    expect(await of(new RoceError('ERR_ROCE_ADDRESS', 'not ours'))).toBe('ERR_ROCE_ADDRESS not ours');
    expect(await of(new InvariantError('a bug'))).toMatch(/^InvariantError.*a bug/);
  });

  it('is abandoned when it is closed: a port that comes all the same is closed, and the close waits for that', async () => {
    const { link, log } = makeLink();
    const order: string[] = [];
    const starting = outcomeOf(link.start(log)).then((outcome) => order.push(`start: ${outcome}`));
    const closing = link.close().then(() => order.push('close'));
    expect(link.abandoned?.aborted).toBe(true);
    link.events?.receive(BATCH);
    link.opened();
    await new Promise((resolve) => setImmediate(resolve));
    expect([link.scripted.closes, order]).toEqual([1, []]);
    link.scripted.closed();
    await Promise.all([starting, closing]);
    expect(order).toEqual(['start: ERR_ROCE_CLOSED scripted:0 was closed before it had started', 'close']);
    expect(log.lines).toEqual([]);
  });

  it('names the close, not what came of it, when the port gives up because of it', async () => {
    const { link, log } = makeLink();
    const outcome = outcomeOf(link.start(log));
    const closing = link.close();
    link.refused(new Error('killed'));
    expect(await outcome).toBe('ERR_ROCE_CLOSED scripted:0 was closed before it had started');
    await closing;
    expect([link.scripted.closes, log.lines]).toEqual([0, []]);
  });

  it('fails when its wire ends meanwhile', async () => {
    const { link, log } = makeLink();
    const outcome = outcomeOf(link.start(log));
    link.events?.ended(LOST);
    link.opened();
    link.scripted.closed();
    expect(await outcome).toBe('ERR_ROCE_LINK_UNAVAILABLE scripted:0: the cable is gone');
    await link.close();
    expect([link.scripted.closes, log.lines]).toEqual([1, []]);
  });
});

describe('a link that is open', () => {
  it('asks for room once after each send that was cut short', async () => {
    const { link, port, events, log } = await openedLink();
    events.writable();
    expect(link.send(BATCH, 0)).toBe(3);
    expect([events.blocked, log.lines]).toEqual([false, []]);
    port.room = 1;
    expect([link.send(BATCH, 0), link.send(BATCH, 1)]).toEqual([1, 0]);
    expect(events.blocked).toBe(true);
    port.room = Infinity;
    events.writable();
    events.writable();
    expect([events.blocked, log.lines]).toEqual([false, ['writable']]);
  });

  it('reports its end when the port has closed, once for any number of closes', async () => {
    const { link, port, log } = await openedLink();
    const closing = Promise.all([link.close(), link.close()]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([port.closes, log.lines]).toEqual([1, []]);
    // The port has frames to see off: what would end a start may not end it.
    expect(link.abandoned?.aborted).toBe(false);
    port.closed();
    await closing;
    await link.close();
    expect([port.closes, log.lines]).toEqual([1, ['closed']]);
  });

  it('reports that the wire has ended at once, and a close waits for the port', async () => {
    const { link, port, events, log } = await openedLink();
    events.ended(LOST);
    events.ended(LOST);
    expect([port.closes, log.lines]).toEqual([1, ['closed: scripted:0: the cable is gone']]);
    let closed = false;
    const closing = link.close().then(() => {
      closed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    port.closed();
    await closing;
    expect([port.closes, log.lines.length]).toEqual([1, 1]);
  });

  it('may be closed from inside each report', async () => {
    for (const report of ['receive', 'writable', 'closed'] as const) {
      const { link, port, events, log } = await openedLink();
      const closing: Promise<void>[] = [];
      log[report] = () => {
        log.lines.push(report);
        closing.push(link.close());
      };
      port.room = 0;
      port.closed();
      link.send(BATCH, 0);
      events.receive(BATCH);
      events.writable();
      events.ended(LOST);
      await Promise.all(closing);
      expect([report, closing.length, port.closes]).toEqual([report, 1, 1]);
      expect(log.lines.filter((line) => line.startsWith('closed'))).toHaveLength(1);
    }
  });
});

describe('a link that is closed', () => {
  it('reports nothing that its port still has to say, and loses what is sent', async () => {
    const { link, port, events, log } = await openedLink();
    port.room = 0;
    expect(link.send(BATCH, 0)).toBe(0);
    const closing = link.close();
    expect(events.blocked).toBe(false);
    events.receive(BATCH);
    events.writable();
    events.ended(LOST);
    expect(link.send(BATCH, 0)).toBe(3);
    port.closed();
    await closing;
    events.receive(BATCH);
    events.ended(LOST);
    expect(log.lines).toEqual(['closed']);
  });
});
