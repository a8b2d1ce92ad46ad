/**
 * The part of the compliance suite about the connection manager: listening, connecting, refusing, saying nothing,
 * ending.
 */
import { expect, it } from 'vitest';
import type { HostCalls } from '../../../../tools/conformance/host-control/host-control.ts';
import type { Bench } from './subject.ts';

type CmEvent = HostCalls['cm.events']['gives']['events'][number];

/** Tests with `cm`. */
export function connectionTests(at: () => Bench): void {
  it('connects to who listens, who invites to a region, and both are told of the end', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    const means = { receives: 4, receiveBytes: 64, regionBytes: 4096 };
    const log = new EventLog(bench);
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT, ...means });
    await bench.call({ hostControl: left }, 'cm.connect', {
      ...{ connection: 1, address: rightGid.address, port: PORT, privateData: 'beef', initiatorDepth: 1 },
    });
    const request = await log.until('connect-request', { listener: 1 });
    expect(request.privateData).toMatch(/^beef/);
    await log.until('established', { listener: 1 });
    const made = await log.until('established', { connection: 1 });
    expect(made).toMatchObject({ status: 0, qpn: expect.any(Number) });
    const invitation = new DataView(Uint8Array.from(Buffer.from(made.privateData ?? '', 'hex')).buffer);
    expect(invitation.getBigUint64(0)).not.toBe(0n);
    expect(invitation.getUint32(12)).toBe(4096);
    await bench.call({ hostControl: left }, 'cm.disconnect', { connection: 1 });
    await log.until('disconnected', { connection: 1 });
    await log.until('disconnected', { listener: 1 });
    await bench.call({ hostControl: right }, 'cm.close', { listener: 1 });
  });

  it('ends the newest connection of a listener', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    const log = new EventLog(bench);
    const gone = { kind: 'refused', errno: 'ENOTCONN' };
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 3, port: PORT });
    await expect(bench.call({ hostControl: right }, 'cm.disconnect', { listener: 3 })).rejects.toMatchObject(gone);
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 2, address: rightGid.address, port: PORT });
    await log.until('established', { connection: 2 });
    await log.until('established', { listener: 3 });
    await bench.call({ hostControl: right }, 'cm.disconnect', { listener: 3 });
    await log.until('disconnected', { connection: 2 });
  });

  it('refuses everybody where it is told to, with what it is told to say', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT, reject: '0dd0' });
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    const refusal = await new EventLog(bench).until('rejected', { connection: 1 });
    expect(refusal.status).toBe(28);
    expect(refusal.privateData).toMatch(/^0dd0/);
  });

  it('is refused where nobody listens', async () => {
    const bench = at();
    const { left, rightGid } = bench.subject;
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT + 1 });
    expect(await new EventLog(bench).until('rejected', { connection: 1 })).toMatchObject({ status: 8 });
  });

  it('says nothing where it is told to, and forgets who waits with reset', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT, mute: true });
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    await new EventLog(bench).until('connect-request', { listener: 1 });
    await bench.call({ hostControl: left }, 'reset', {});
    await bench.call({ hostControl: right }, 'reset', {});
    expect(await bench.call({ hostControl: left }, 'cm.events', {})).toEqual({ events: [] });
    const log = new EventLog(bench);
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT });
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    await log.until('established', { connection: 1 });
    await log.until('established', { listener: 1 });
  });

  it('refuses a port that is taken', async () => {
    const bench = at();
    const { right } = bench.subject;
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT });
    const again = bench.call({ hostControl: right }, 'cm.listen', { listener: 2, port: PORT });
    await expect(again).rejects.toMatchObject({ kind: 'refused' });
  });

  it('does not connect with more bytes than a request has room for, now or later', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    const log = new EventLog(bench);
    await bench.call({ hostControl: right }, 'cm.listen', { listener: 1, port: PORT });
    const args = { address: rightGid.address, port: PORT };
    await bench
      .call({ hostControl: left }, 'cm.connect', { connection: 1, ...args, privateData: '00'.repeat(57) })
      .then(
        () => log.until('connect-error', { connection: 1 }),
        (error: unknown) => expect(error).toMatchObject({ kind: 'refused', errno: 'EINVAL' }),
      );
    await bench.call({ hostControl: left }, 'cm.connect', { connection: 2, ...args, privateData: '00' });
    await log.until('established', { connection: 2 });
  });
}

/** What the connection managers of both host control has told; each event is looked for once. */
class EventLog {
  readonly #bench: Bench;
  readonly #events: CmEvent[] = [];

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** The next event of that name, of that listener or connection. */
  async until(event: string, of: Pick<CmEvent, 'listener' | 'connection'>): Promise<CmEvent> {
    const { left, right } = this.#bench.subject;
    let found: CmEvent | undefined;
    await this.#bench.until(async () => {
      for (const hostControl of new Set([left, right]))
        this.#events.push(...(await this.#bench.call({ hostControl }, 'cm.events', {})).events);
      const isIt = (one: CmEvent) =>
        one.event === event && one.listener === of.listener && one.connection === of.connection;
      const at = this.#events.findIndex(isIt);
      if (at >= 0) [found] = this.#events.splice(at, 1);
      return found !== undefined;
    });
    if (found === undefined) throw new Error(`${event} was not told`);
    return found;
  }
}

const PORT = 18_515;
