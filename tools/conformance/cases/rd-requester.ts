/**
 * Cases of area RD where the device is the requester: what READ responses acknowledge, and where a READ goes on after a
 * loss.
 */
import { Op } from 'rocev2/packets';
import { describePacket, pattern, readResponses } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import { sameBytes } from './memory.ts';

export const RD_REQUESTER_CASES: readonly Case[] = [
  {
    rules: ['RD-17'],
    needs: ['host-control'],
    async run(t) {
      const peer = await t.connect({ timeout: TIMEOUT });
      const mr = t.need(peer.buffers?.mr);
      const data = pattern(100, 6);
      await peer.post({ wrId: 1, opcode: 'send', pieces: [{ mr, offset: 0, length: 32 }] });
      await peer.post({ wrId: 2, opcode: 'write', pieces: [{ mr, offset: 0, length: 32 }], ...REMOTE });
      await peer.post({ wrId: 3, opcode: 'read', pieces: [{ mr, offset: 1024, length: 100 }], ...REMOTE });
      await peer.rx({ opcode: Op.SendOnly, psn: 0 });
      await peer.rx({ opcode: Op.WriteOnly, psn: 1 });
      await peer.rx({ opcode: Op.ReadRequest, psn: 2 });
      peer.tx(...readResponses({ psn: 2, msn: 3, data, mtu: peer.mtu }));
      const all = await peer.sendCompletions(3);
      const says = all.map(({ wrId, status }) => `${wrId}: status ${status}`).join(', ');
      demand(says === '1: status 0, 2: status 0, 3: status 0', `all three were to complete, and it came to ${says}`);
    },
  },
  {
    rules: ['RD-18'],
    needs: ['host-control'],
    async run(t) {
      const packets = 5;
      for (const lost of [1, 2, 4]) {
        const peer = await t.connect({ timeout: TIMEOUT, retryCnt: 6 });
        const mr = t.need(peer.buffers?.mr);
        const length = packets * peer.mtu;
        const data = pattern(length, lost);
        await peer.post({ wrId: 1, opcode: 'read', pieces: [{ mr, offset: 0, length }], ...REMOTE });
        await peer.rx({ opcode: Op.ReadRequest, psn: 0, reth: reth(0, length) });
        const responses = readResponses({ psn: 0, msn: 1, data, mtu: peer.mtu });
        peer.tx(...responses.filter(({ psn }) => psn !== lost));
        const received = await peer.take(t.dut.patienceNs + 4 * TIMEOUT_NS);
        demand(received !== undefined, `response ${lost} was lost, and the device does not ask for it again`);
        const skipped = lost * peer.mtu;
        const { packet } = received;
        const exact =
          packet.opcode === Op.ReadRequest && packet.psn === lost && packet.reth?.length === length - skipped;
        demand(
          exact && packet.reth?.va === REMOTE.remoteAddr + BigInt(skipped),
          () => `a READ from packet ${lost} on was expected, and ${describePacket(packet)} came`,
        );
        peer.tx(...readResponses({ psn: lost, msn: 1, data: data.slice(skipped), mtu: peer.mtu }));
        const [wc] = await peer.sendCompletions(1);
        demand(wc?.status === 0, `the READ completed with status ${wc?.status}`);
        const found = await t.memory(t.need(peer.buffers), 0, length);
        demand(sameBytes(found, data), 'what the READ brought is not what was sent');
      }
    },
  },
];

/** Where the device thinks that our memory is. */
const REMOTE = { remoteAddr: 0x1000n, rkey: 0x1234 } as const;
const reth = (skipped: number, length: number) => ({
  va: REMOTE.remoteAddr + BigInt(skipped),
  rkey: REMOTE.rkey,
  length,
});
/** Long enough that a slow tester has answered before the device gives up. */
const TIMEOUT = 16;
const TIMEOUT_NS = 4096 * 2 ** TIMEOUT;
