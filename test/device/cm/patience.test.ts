/**
 * Goal: an application that thinks for long is waited for, on both sides, and not infinitely. Method: virtual time; a
 * caller that would give up after a quarter of a second (four times 67 ms) without MRA.
 */
import { describe, expect, it } from 'vitest';
import { CmAttribute } from '../../../packets/cm/index.ts';
import type { Frame } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { codeToNs } from '../../../transport/cm/index.ts';
import { makePair, makeSide, PORT } from '../support.ts';

const IMPATIENT = { address: '10.0.0.2', port: PORT, cmResponseTimeout: 14, maxCmRetries: 3 };
const SECOND = 1e9;

function counting(attribute: number) {
  const pair = makePair();
  const seen = { count: 0 };
  const match = (frame: Frame): boolean => {
    if (frame.destQpn === GSI_QPN && frame.view.getUint16(frame.payloadOffset + 16) === attribute) seen.count++;
    return false;
  };
  pair.world.network.addRule({ match, action: 'drop' });
  return { ...pair, seen };
}

describe('a request whose application thinks', () => {
  it('is waited for: who asks again is told to be patient, as by rdma_cm', async () => {
    const { world, a, b, seen } = counting(CmAttribute.MRA);
    const listener = b.cm.listen(PORT);
    const connecting = a.cm.connect({ ...IMPATIENT, qp: makeSide(a).qp });
    const { value: request } = await world.run(listener.next());
    world.runFor(30 * SECOND);
    expect(seen.count).toBeGreaterThan(0);
    await world.run(Promise.all([connecting, request.accept({ qp: makeSide(b).qp })]));
  });

  it('sends nothing of the kind when the answer comes before the first repetition', async () => {
    const { world, a, b, seen } = counting(CmAttribute.MRA);
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp: makeSide(b).qp }));
    await world.run(Promise.all([a.cm.connect({ ...IMPATIENT, qp: makeSide(a).qp }), accepting]));
    expect(seen.count).toBe(0);
  });

  it('can say how long it will take at once', async () => {
    const { world, a, b, seen } = counting(CmAttribute.MRA);
    const listener = b.cm.listen(PORT);
    const connecting = a.cm.connect({ ...IMPATIENT, qp: makeSide(a).qp });
    const { value: request } = await world.run(listener.next());
    const before = world.now;
    request.delay(20);
    expect(() => request.delay(32)).toThrow(/serviceTimeout must be/);
    // One MRA, and then silence for as long as it said.
    world.runFor(codeToNs(20));
    expect(seen.count).toBe(1);
    await world.run(Promise.all([connecting, request.accept({ qp: makeSide(b).qp })]));
    expect(world.now - before).toBeLessThan(codeToNs(21));
    expect(() => request.delay()).toThrow(/answered or withdrawn/);
  });

  it('is not waited for longer than it was promised, repetitions included', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const failed = a.cm.connect({ ...IMPATIENT, qp: makeSide(a).qp }).catch((error: unknown) => error);
    const { value: request } = await world.run(listener.next());
    request.delay(18);
    expect(await world.run(failed)).toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    expect(world.now).toBeLessThan(5 * codeToNs(19));
    // REJ tells this side as well.
    world.runFor(SECOND);
    await expect(request.accept({ qp: makeSide(b).qp })).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
    expect(b.cm.size).toBe(0);
  });

  it('is forgotten when it is never answered', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const failed = a.cm.connect({ ...IMPATIENT, qp: makeSide(a).qp }).catch((error: unknown) => error);
    await world.run(listener.next());
    expect(await world.run(failed)).toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    world.runFor(200 * SECOND);
    expect([a.cm.size, b.cm.size]).toEqual([0, 0]);
  });
});
