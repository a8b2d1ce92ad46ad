/** The part of the compliance suite about the connection manager: listening, connecting, refusing, saying nothing, ending. */
import { expect, it } from 'vitest';
import type { HandsCalls } from '../../../../tools/conformance/hands/hands.ts';
import type { Bench } from './subject.ts';

type CmEvent = HandsCalls['cm.events']['gives']['events'][number];

/** Tests with `cm`. */
export function connectionTests(at: () => Bench): void {
  it('connects to who listens, who invites to a region, and both are told of the end', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    const means = { receives: 4, receiveBytes: 64, regionBytes: 4096 };
    await bench.call({ hands: right }, 'cm.listen', { listener: 1, port: PORT, ...means });
    await bench.call({ hands: left }, 'cm.connect', {
      ...{ connection: 1, address: rightGid.address, port: PORT, privateData: 'beef', initiatorDepth: 1 },
    });
    const [active, passive] = await untilBoth(bench, 'established');
    const request = passive.find(({ event }) => event === 'connect-request');
    expect(request).toMatchObject({ listener: 1, status: 0 });
    expect(request?.privateData).toMatch(/^beef/);
    const made = active.find(({ event }) => event === 'established');
    expect(made).toMatchObject({ connection: 1, status: 0, qpn: expect.any(Number) });
    const invitation = new DataView(Uint8Array.from(Buffer.from(made?.privateData ?? '', 'hex')).buffer);
    expect(invitation.getBigUint64(0)).not.toBe(0n);
    expect(invitation.getUint32(12)).toBe(4096);
    await bench.call({ hands: left }, 'cm.disconnect', { connection: 1 });
    const [ended, endedToo] = await untilBoth(bench, 'disconnected');
    expect(ended).toContainEqual(expect.objectContaining({ event: 'disconnected', connection: 1 }));
    expect(endedToo).toContainEqual(expect.objectContaining({ event: 'disconnected', listener: 1 }));
    await bench.call({ hands: right }, 'cm.close', { listener: 1 });
  });

  it('ends the newest connection of a listener', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    const gone = { kind: 'refused', errno: 'EINVAL' };
    await bench.call({ hands: right }, 'cm.listen', { listener: 3, port: PORT });
    await expect(bench.call({ hands: right }, 'cm.disconnect', { listener: 3 })).rejects.toMatchObject(gone);
    await bench.call({ hands: left }, 'cm.connect', { connection: 2, address: rightGid.address, port: PORT });
    await untilBoth(bench, 'established');
    await bench.call({ hands: right }, 'cm.disconnect', { listener: 3 });
    const [active] = await untilBoth(bench, 'disconnected');
    expect(active).toContainEqual(expect.objectContaining({ event: 'disconnected', connection: 2 }));
  });

  it('refuses everybody where it is told to, with what it is told to say', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    await bench.call({ hands: right }, 'cm.listen', { listener: 1, port: PORT, reject: '0dd0' });
    await bench.call({ hands: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    const events = await until(bench, 'left', 'rejected');
    const refusal = events.find(({ event }) => event === 'rejected');
    expect(refusal).toMatchObject({ connection: 1, status: 28 });
    expect(refusal?.privateData).toMatch(/^0dd0/);
  });

  it('is refused where nobody listens', async () => {
    const bench = at();
    const { left, rightGid } = bench.subject;
    await bench.call({ hands: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT + 1 });
    expect(await until(bench, 'left', 'rejected')).toContainEqual(
      expect.objectContaining({ event: 'rejected', connection: 1, status: 8 }),
    );
  });

  it('says nothing where it is told to, and forgets who waits with reset', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    await bench.call({ hands: right }, 'cm.listen', { listener: 1, port: PORT, mute: true });
    await bench.call({ hands: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    await until(bench, 'right', 'connect-request');
    await bench.call({ hands: left }, 'reset', {});
    await bench.call({ hands: right }, 'reset', {});
    expect(await bench.call({ hands: left }, 'cm.events', {})).toEqual({ events: [] });
    await bench.call({ hands: right }, 'cm.listen', { listener: 1, port: PORT });
    await bench.call({ hands: left }, 'cm.connect', { connection: 1, address: rightGid.address, port: PORT });
    await untilBoth(bench, 'established');
  });

  it('refuses a port that is taken, and bytes that a request has no room for', async () => {
    const bench = at();
    const { left, right, rightGid } = bench.subject;
    await bench.call({ hands: right }, 'cm.listen', { listener: 1, port: PORT });
    await expect(bench.call({ hands: right }, 'cm.listen', { listener: 2, port: PORT })).rejects.toMatchObject({
      kind: 'refused',
    });
    const args = { connection: 1, address: rightGid.address, port: PORT, privateData: '00'.repeat(57) };
    await expect(bench.call({ hands: left }, 'cm.connect', args)).rejects.toMatchObject({
      kind: 'refused',
      errno: 'EINVAL',
    });
    await bench.call({ hands: left }, 'cm.connect', { ...args, privateData: '00' });
    await untilBoth(bench, 'established');
  });
}

/** Events of one side until one of that name is among them. */
async function until(bench: Bench, which: 'left' | 'right', event: string): Promise<CmEvent[]> {
  const found: CmEvent[] = [];
  await bench.until(async () => {
    found.push(...(await bench.call({ hands: bench.subject[which] }, 'cm.events', {})).events);
    return found.some((one) => one.event === event);
  });
  return found;
}

async function untilBoth(bench: Bench, event: string): Promise<[CmEvent[], CmEvent[]]> {
  return [await until(bench, 'left', event), await until(bench, 'right', event)];
}

const PORT = 18_515;
