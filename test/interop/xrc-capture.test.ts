/**
 * Goal: XRC packets are what Wireshark takes for XRC. Method: what an initiator and a target of ours send, read back by
 * tshark. It knows the opcodes and the BTH; what follows the BTH it shows as bytes, in which the XRCETH must come first
 * in every request (so did a patch to rxe that was posted and never merged), and nowhere in a response.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { opcodeInfo } from '../../packets/opcode.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { LinkType } from '../../pcap/types.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { ProtectionDomain } from '../../transport/memory.ts';
import { QpType } from '../../transport/qp-type.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import { WrOpcode } from '../../transport/work.ts';
import { XrcDomain } from '../../transport/xrc-domain.ts';
import { describeWith } from '../support/need.ts';
import { fetchAdd, readRequest, sendOnly, xrc } from '../transport/support/packets.ts';
import { ALL_ACCESS, Peer } from '../transport/support/peer.ts';

const SRQN = 0xab_cd_ef;

/** Every operation of an initiator. */
function requests(): Uint8Array[] {
  const peer = new Peer({ type: QpType.XrcSend, psn: 0 });
  const mr = peer.region({ length: 600 });
  const common = { xrcRemoteSrqn: SRQN, remoteAddr: 0x1122_3344_5566_7788n, rkey: 0xa1_b2_c3_d4 };
  const eight = { ...common, sges: [{ mr, length: 8 }], compareAdd: 1n, swap: 2n };
  const { Send, SendWithImm, SendWithInv, RdmaWrite, RdmaWriteWithImm } = WrOpcode;
  const { RdmaRead, AtomicCmpAndSwp, AtomicFetchAndAdd } = WrOpcode;
  for (const opcode of [Send, SendWithImm, SendWithInv, RdmaWrite, RdmaWriteWithImm]) {
    peer.post({ ...eight, wrId: 1, opcode, immData: 5 }, { ...common, wrId: 2, opcode, sges: [{ mr, length: 600 }] });
  }
  for (const opcode of [RdmaRead, AtomicCmpAndSwp, AtomicFetchAndAdd]) peer.post({ ...eight, wrId: 3, opcode });
  peer.drain();
  return peer.sent;
}

/** Every answer of a target. */
function responses(): Uint8Array[] {
  const domain = new XrcDomain();
  const peer = new Peer({ type: QpType.XrcRecv, psn: 0, domain });
  const pd = new ProtectionDomain(5);
  const cq = new CompletionQueue(4, []);
  const srq = new SharedReceiveQueue({ srqn: SRQN, pd, maxWr: 1, maxSge: 1, xrc: { domain, cq } }, []);
  domain.add(srq);
  srq.post({ wrId: 1 });
  const mr = peer.region({ pd, length: 600, access: ALL_ACCESS });
  const { iova: va, rkey } = mr;
  const asked = [
    sendOnly({ psn: 0, ackReq: true }),
    readRequest({ psn: 1, reth: { va, rkey, length: 600 } }),
    readRequest({ psn: 4, reth: { va, rkey, length: 8 } }),
    fetchAdd({ psn: 5, va, rkey, add: 1n }),
    sendOnly({ psn: 6, ackReq: true }),
  ];
  for (const packet of asked) {
    peer.rx(xrc(packet, SRQN));
    peer.drain();
  }
  return peer.sent;
}

describeWith('tshark', 'XRC packets of ours', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-xrc-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  it('have opcodes that tshark knows as XRC, and the number of the queue behind the BTH of every request', async () => {
    const asked = requests();
    const frames = [...asked, ...responses()];
    const writer = new PcapWriter(LinkType.Raw);
    for (const [i, bytes] of frames.entries()) writer.packet(bytes, 0, bytes.length, i, 0);
    const file = join(scratch, 'xrc.pcap');
    writeFileSync(file, writer.take());
    const fields = ['infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn', 'infiniband.vendor'];
    const rows = await tsharkRows(file, fields);
    expect(rows).toHaveLength(frames.length);
    const seen = new Set<number>();
    for (const [i, row] of rows.entries()) {
      const [opcode, destQp, psn, vendor] = fields.map((name) => row.get(name)?.[0] ?? '');
      const info = opcodeInfo(Number(opcode));
      expect(info.name).toMatch(/^XRC /);
      seen.add(info.code);
      expect([destQp, Number.isInteger(Number(psn))]).toEqual(['0x000022', true]);
      const request = info.headers.includes('XRCETH');
      expect(request).toBe(i < asked.length);
      if (request) expect(vendor?.replaceAll(':', '').slice(0, 8)).toBe('00abcdef');
      else expect(vendor?.replaceAll(':', '').slice(0, 8)).not.toBe('00abcdef');
    }
    // All of SEND, WRITE, READ and atomics with their answers.
    expect(seen.size).toBe(23);
  });
});
