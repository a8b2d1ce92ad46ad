/**
 * Goal: a device gets addresses that its link can carry, or one clear error. Method: links that need no privileges,
 * opened for real.
 */
import { describe, expect, it } from 'vitest';
import { openDevice } from '../../src/index.ts';

describe('the addresses of a device', () => {
  it('must be given on a link that has none of its own', async () => {
    await expect(openDevice({ link: 'qemu:/nowhere/wire.sock' })).rejects.toMatchObject({
      code: 'ERR_ROCE_ARGUMENT',
      message: 'qemu:/nowhere/wire.sock has no addresses of its own: give the device at least one',
    });
  });

  it('are those of the link where it shares those of the kernel, and no others', async () => {
    await expect(openDevice({ link: 'udp6:[::1]', addresses: ['fd00::1/64'] })).rejects.toMatchObject({
      code: 'ERR_ROCE_ADDRESS',
      message: expect.stringMatching(/^fd00::1 is none of the addresses of udp6:.*: ::1$/),
    });
  });

  it('are not to be had from an interface that is not there', async () => {
    await expect(openDevice({ link: 'raw-socket:nowhere' })).rejects.toMatchObject({
      code: 'ERR_ROCE_LINK_UNAVAILABLE',
      message: expect.stringMatching(
        /^raw-socket:nowhere shares the kernel's addresses, and its interface is not there/,
      ),
    });
  });
});

describe('congestion control of a device', () => {
  const PORT = 4793;
  it('is refused where the link cannot show what came marked, and the link is closed again', async () => {
    const link = `udp6:[::1],port=${PORT}`;
    await expect(openDevice({ link, congestion: { notification: { becn: 0 } } })).rejects.toMatchObject({
      code: 'ERR_ROCE_UNSUPPORTED',
      message: expect.stringMatching(/^udp6:.* does not show which packets came marked: .*udp-offload/),
    });
    await (await openDevice({ link })).close();
  });

  it('is taken where nothing of it depends on the link', async () => {
    const open = await openDevice({
      link: `udp6:[::1],port=${PORT}`,
      congestion: { reaction: { kind: 'fixed-rate', rateBps: 1e9 } },
    });
    expect(open.device.pathTraits).toEqual({ trafficClass: 106 });
    await open.close();
  });
});
