/** OPS-19: WRITEs with immediate of several packets. */
import { pattern, writeFirst, writeLastImm, writeMiddle, writeOnlyImm } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { holds, RECEIVE_BYTES, target } from './answers.ts';

export const OPS_IMMEDIATE_CASES: readonly Case[] = [
  { rules: ['OPS-19'], needs: ['host-control'], psnSweep: true, run: completesWhole },
];

async function completesWhole(t: Tester): Promise<void> {
  const peer = await t.connect();
  const { mtu } = peer;
  let psn = 0;
  for (const [i, length] of [8, mtu, mtu + 1, 2 * mtu, 3 * mtu - 3, 4 * mtu].entries()) {
    const data = pattern(length, i + 1);
    const reth = target(peer, 0, length);
    const imm = 0xa0_00_00_00 + i;
    const packets = Math.ceil(length / mtu);
    for (let at = 0; at < packets; at++, psn++) {
      const last = at === packets - 1;
      const fields = { psn, ackReq: last, payload: data.slice(at * mtu, (at + 1) * mtu) };
      if (packets === 1) peer.tx(writeOnlyImm({ ...fields, reth, imm }));
      else if (at === 0) peer.tx(writeFirst({ ...fields, reth }));
      else peer.tx(last ? writeLastImm({ ...fields, imm }) : writeMiddle(fields));
    }
    await peer.expectAck(psn - 1, i + 1);
    await peer.receives({ wrId: i + 1, byteLen: length, imm, byWrite: true });
    await holds(peer, 0, data, 'a WRITE with immediate');
    const buffer = await t.memory(t.need(peer.buffers), i * RECEIVE_BYTES, 16);
    demand(
      buffer.every((byte) => byte === 0),
      'a WRITE with immediate was stored in the receive that it took',
    );
  }
}
