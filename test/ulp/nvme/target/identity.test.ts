/** Goal: a controller says of itself what the standard asks for, and what the target holds to. */
import { expect, it } from 'vitest';
import { IDENTIFY_CONTROLLER, IdentifyCns } from '../../../../src/ulp/nvme/codec/index.ts';
import { connectAdmin, NQN, serve } from './support.ts';

it('names the limits that it keeps, each counted as the standard counts it', async () => {
  const admin = await connectAdmin(serve({ maxEntries: 64, inCapsuleBytes: 8192 }));
  const said = IDENTIFY_CONTROLLER.read(await admin.identify(IdentifyCns.Controller));
  expect(said).toMatchObject({
    // From 0: four Aborts, four Asynchronous Event Requests, sixteen entries of the error log.
    ...{ acl: 3, aerl: 3, elpe: 15 },
    // NVMe 1.4; an I/O controller; 2^8 pages of 4 KiB in a command.
    ...{ ver: 0x01_04_00, cntlid: 1, cntrltype: 1, mdts: 8, maxcmd: 64 },
    // In units of 16 bytes: a command and its 8 KiB, a completion.
    ...{ ioccsz: (64 + 8192) / 16, iorcsz: 1, icdoff: 0, msdbd: 1 },
    // In units of 100 ms.
    kas: 10,
    // Several ports and controllers; host identifiers of 16 bytes, commands count as signs of life.
    ...{ cmic: 0x03, ctratt: 0x41, frmw: 0x03, lpa: 0x04, vwc: 0x07 },
    ...{ sqes: 0x66, cqes: 0x44, nn: 1024, mnan: 1024, subnqn: NQN },
    ...{ oncsCompare: true, oncsDsm: true, oncsWriteZeroes: true, oncsVerify: true },
    ...{ sglsSupport: 1, sglsKeyed: true, sglsOffset: true },
  });
});
