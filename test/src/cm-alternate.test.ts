/** Goal: both sides get a second path, or neither. Method: LAP and APR between two devices in the simulated world. */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { CmAprStatus, CmAttribute } from '../../packets/cm/index.ts';
import type { Frame } from '../../packets/frame.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import { QpState } from '../../src/index.ts';
import { connect } from './support.ts';

const AV = { destination: IpAddress.parse('fd00::2'), source: IpAddress.parse('fd00::1'), flowLabel: 5 };

describe('an alternate path', () => {
  it('is not taken by a peer whose queue pairs have one path, and the connection goes on', async () => {
    const { world, left, active } = await connect();
    const asked = world.run(active.loadAlternatePath(AV).catch((error: unknown) => error));
    expect(await asked).toMatchObject({ code: 'ERR_ROCE_REJECTED', status: CmAprStatus.Unsupported });
    expect(left.qp.state).toBe(QpState.Rts);
    await expect(world.run(active.disconnect())).resolves.toBe('drep');
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
