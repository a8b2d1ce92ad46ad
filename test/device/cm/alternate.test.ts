/** Goal: both sides get a second path, or neither. Method: LAP and APR between two devices in the simulated world. */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { CmAprStatus, CmAttribute } from '../../../packets/cm/index.ts';
import { type Frame, frameSource } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { MigState } from '../../../transport/index.ts';
import { connect } from '../support.ts';

const AV = { destination: IpAddress.parse('fd00::2'), source: IpAddress.parse('fd00::1'), flowLabel: 5 };

describe('an alternate path', () => {
  it('is armed by the packets of both sides, and taken when the first one fails', async () => {
    const { world, left, right, active } = await connect();
    const send = async (wrId: number): Promise<number | undefined> => {
      right.qp.postRecv({ wrId, sges: [{ mr: right.mr }] });
      left.qp.postSend({ wrId, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 3000 }] });
      const { value } = await world.run(left.cq.next());
      return value?.status;
    };
    await world.run(active.loadAlternatePath(AV));
    expect([left.qp, right.qp].map((qp) => qp.core.config.pathMigState)).toEqual([MigState.Rearm, MigState.Rearm]);
    for (let wrId = 1; wrId < 4; wrId++) expect(await send(wrId)).toBe(WcStatus.Success);
    expect([left.qp, right.qp].map((qp) => qp.core.config.pathMigState)).toEqual([MigState.Armed, MigState.Armed]);
    world.network.addRule({ match: (frame: Frame) => frameSource(frame).version === 4, action: 'drop' });
    expect(await send(4)).toBe(WcStatus.Success);
    expect(await world.run(left.qp.events.next())).toMatchObject({ value: 'path-mig' });
    expect([left.qp, right.qp].map((qp) => qp.core.config.path?.remote.version)).toEqual([6, 6]);
    expect(await send(5)).toBe(WcStatus.Success);
  });

  it('is refused by a peer whose queue pair is not connected any more', async () => {
    const { world, left, right, active } = await connect();
    right.qp.modifyNow({ state: QpState.Error });
    const asked = world.run(active.loadAlternatePath(AV).catch((error: unknown) => error));
    expect(await asked).toMatchObject({ code: 'ERR_ROCE_REJECTED', status: CmAprStatus.Reject });
    expect(left.qp.core.config.altPath).toBeUndefined();
  });

  it('is asked for in vain where nobody answers LAP, as on Linux, and the connection goes on', async () => {
    const { world, left, passive } = await connect();
    const match = (frame: Frame): boolean =>
      frame.destQpn === GSI_QPN && frame.view.getUint16(frame.payloadOffset + 16) === CmAttribute.LAP;
    world.network.addRule({ match, action: 'drop' });
    const asked = world.run(
      passive
        .loadAlternatePath({ ...AV, destination: AV.source, source: AV.destination })
        .catch((error: unknown) => error),
    );
    expect(await asked).toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    expect(left.qp.state).toBe(QpState.Rts);
  });

  it('is refused here when it begins elsewhere, leads nowhere, or comes twice or too late', async () => {
    const { world, active } = await connect();
    const foreign = { ...AV, source: IpAddress.parse('fd00::77') };
    await expect(active.loadAlternatePath(foreign)).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    const nowhere = active.loadAlternatePath({ ...AV, destination: IpAddress.parse('fd00::9') });
    expect(await world.run(nowhere.catch((error: unknown) => error))).toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    const first = active.loadAlternatePath(AV).catch((error: unknown) => error);
    const second = active.loadAlternatePath(AV).catch((error: unknown) => error);
    expect(await world.run(second)).toMatchObject({ code: 'ERR_ROCE_STATE' });
    const ending = active.disconnect();
    expect(await world.run(first)).toMatchObject({ code: expect.stringMatching(/CLOSED|REJECTED/) });
    await world.run(ending);
    await expect(active.loadAlternatePath(AV)).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
  });
});
