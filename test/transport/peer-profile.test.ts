/**
 * Goal: what a profile of a peer says is what a queue pair does; every entry says where it comes from.
 * Method: two devices in the simulated world whose queue pairs are made for a kind of peer; what travels is looked at.
 */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import { FlushLevel, FlushType, PEER_PROFILES, WcStatus, WrOpcode } from '../../src/index.ts';
import { peerProfile } from '../../transport/index.ts';
import { connect } from '../device/support.ts';

const NAMES = PEER_PROFILES.map(({ name }) => name);

describe('the profiles', () => {
  it('are found by name, and a name that is none is refused with all that are', () => {
    expect(NAMES).toEqual(['default', 'rxe-6.1', 'rxe-6.12', 'rxe-7.x', 'cx5', 'strict']);
    for (const profile of PEER_PROFILES) expect(peerProfile(profile.name)).toBe(profile);
    expect(() => peerProfile('rxe')).toThrow(/"rxe"; there is default, rxe-6\.1, .*strict/);
  });

  it.each(PEER_PROFILES)('name a source for every entry: $name', ({ name, about, ...entries }) => {
    expect(name.length * about.length).toBeGreaterThan(0);
    for (const { source } of Object.values(entries)) expect(source).toMatch(/^ref:|^rxe:|^project|^mlx5 /);
  });
});

describe.each(NAMES)('a connection between queue pairs made for %s', (peer) => {
  const profile = peerProfile(peer);

  it('moves data and sends the MigReq bit and the AckReq bits that the profile says', async () => {
    const { world, left, right } = await connect({ peer });
    const seen: { migReq: number; ackReq: number }[] = [];
    world.network.addRule({ match: (frame: Frame) => noted(frame, seen), action: 'drop' });
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 65_536 }] });
    expect((await world.run(left.cq.next())).value?.status).toBe(WcStatus.Success);
    expect(new Set(seen.map(({ migReq }) => migReq))).toEqual(new Set([profile.migReq.value]));
    const asking = seen.flatMap(({ ackReq }, i) => (ackReq === 1 ? [i + 1] : []));
    const every = profile.ackInterval.value;
    expect(asking).toEqual([...new Set([...multiples(every, seen.length), seen.length])]);
  });

  it('knows beforehand what the peer does not know', async () => {
    const { left } = await connect({ peer });
    const post = () =>
      left.qp.postSend({
        wrId: 1,
        opcode: WrOpcode.Flush,
        remoteAddr: 0n,
        rkey: 0,
        length: 0,
        flush: { type: FlushType.Global, level: FlushLevel.Range },
      });
    if (profile.flushAndAtomicWrite.value) expect(post).not.toThrow();
    else expect(post).toThrow(expect.objectContaining({ errno: 'EOPNOTSUPP' }));
  });

  it('gives up after seven retries, or never', async () => {
    const { world, left } = await connect({ peer });
    world.network.addRule({ match: () => true, action: 'drop' });
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 8 }] });
    await world.run(world.sleep(20e9));
    expect(left.cq.length).toBe(profile.retryCnt7.value === 'for-ever' ? 0 : 1);
  });

  it('asks again for the gap in a READ when the profile says', async () => {
    const { world, a, left, right } = await connect({ peer });
    let dropped = false;
    world.network.addRule({
      match: (frame: Frame) => {
        const hit = !dropped && frame.opcode === Op.ReadResponseMiddle;
        dropped ||= hit;
        return hit;
      },
      action: 'drop',
    });
    const { rkey, iova } = right.mr;
    const sges = [{ mr: left.mr, length: 16_384 }];
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaRead, sges, remoteAddr: iova, rkey });
    expect((await world.run(left.cq.next())).value?.status).toBe(WcStatus.Success);
    expect(a.portCounters.localAckTimeoutErr).toBe(profile.readGap.value === 'at-timeout' ? 1 : 0);
  });
});

/** Notes requests that carry data, and matches nothing. */
function noted(frame: Frame, seen: { migReq: number; ackReq: number }[]): boolean {
  const { opcode, migReq, ackReq } = frame;
  if (opcode <= Op.SendOnly && frame.destQpn > 1) seen.push({ migReq, ackReq });
  return false;
}

function multiples(of: number, to: number): number[] {
  return Array.from({ length: Math.floor(to / of) }, (_, i) => (i + 1) * of);
}
