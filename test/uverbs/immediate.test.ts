/** Goal: immediate data comes as it was sent, whatever it is, and nothing is taken for it. */
import { expect, it } from 'vitest';
import { expectEmpty, makeEnds, toRts } from './support/ends.ts';

const Op = { Send: 2, SendImm: 3 };
/** A struct ib_wc has these bits: GRH, with immediate data. */
const Flag = { Grh: 1, WithImm: 2 };

it.each([0, 1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff])('of %i is there', async (imm) => {
  const pair = await toRts(await makeEnds());
  const { world, left, right } = pair;
  for (const wrId of [1, 2]) right.program.receive(right.qp.rq, wrId, []);
  left.program.post(left.qp, { wrId: 1, opcode: Op.SendImm, imm, inline: new Uint8Array(0) });
  left.program.post(left.qp, { wrId: 2, opcode: Op.Send, inline: new Uint8Array(0) });
  world.runFor(1e7);
  expect(right.program.pollAll(right.cq)).toMatchObject([
    { wrId: 1n, status: 0, imm, flags: Flag.Grh | Flag.WithImm },
    { wrId: 2n, status: 0, imm: 0, flags: Flag.Grh },
  ]);
  await expectEmpty(pair);
});
