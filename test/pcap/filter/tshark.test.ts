/**
 * Goal: what a filter of ours and a display filter of tshark have in common, they find in the same packets. Method: the
 * committed sample, and in the long tests the captures of rdma_rxe, filtered by both.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { tsharkRows } from '../../../tools/tshark.ts';
import { describeWith } from '../../support/need.ts';
import { framesThatPass } from './matching.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));

describeWith('tshark', 'a filter beside tshark', () => {
  it.each([
    ['rc and write and psn 0x800000-0', 'infiniband.bth.opcode in {6 .. 11} && infiniband.bth.psn >= 0x800000'],
    [
      'host 10.77.0.2 and not udp',
      '(ip.addr == 10.77.0.2 || arp.src.proto_ipv4 == 10.77.0.2 || arp.dst.proto_ipv4 == 10.77.0.2) && !udp',
    ],
    ['infiniband.deth && ip.src != 10.77.0.1 || infiniband.aeth.msn > 3', undefined],
  ])('%s', async (ours, theirs = ours) => {
    const rows = await tsharkRows(SAMPLE, ['frame.number'], { filter: theirs });
    expect(framesThatPass(readFileSync(SAMPLE), ours)).toEqual(rows.map((row) => Number(row.get('frame.number')?.[0])));
  });
});
