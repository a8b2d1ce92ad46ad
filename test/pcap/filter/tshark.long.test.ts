/**
 * Goal: as in tshark.test.ts, over all packets of the captures of rdma_rxe. Method: each pair of filters is run by
 * both.
 */
import { expect, it } from 'vitest';
import { tsharkRows } from '../../../tools/tshark.ts';
import { describeWith } from '../../support/need.ts';
import { RXE_CAPTURES, rxeCapture, rxeCapturePath } from '../../vectors/captures.ts';
import { framesThatPass } from './matching.ts';

/** Ours, and tshark's where it is spelled in another way. */
const PAIRS: readonly string[][] = [
  ['arp'],
  ['icmp'],
  ['tcp'],
  ['udp and not roce', 'udp && !infiniband.bth'],
  ['roce', 'infiniband.bth'],
  ['ip6', 'ipv6'],
  ['cm', 'infiniband.mad.mgmtclass == 7'],
  ['cm req', 'infiniband.mad.attributeid == 0x10 && infiniband.mad.mgmtclass == 7'],
  ['rc', 'infiniband.bth.opcode <= 0x1f'],
  ['uc', 'infiniband.bth.opcode >= 0x20 && infiniband.bth.opcode < 0x40'],
  ['ud', 'infiniband.deth'],
  ['opcode write-first', 'infiniband.bth.opcode == 6 || infiniband.bth.opcode == 0x26'],
  ['read-response and rc', 'infiniband.bth.opcode in {0x0d .. 0x10}'],
  ['atomic', 'infiniband.atomiceth || infiniband.atomicacketh'],
  ['ack', 'infiniband.bth.opcode == 0x11 && infiniband.aeth.syndrome.opcode == 0'],
  ['syndrome 0x1f,0', 'infiniband.aeth.syndrome == 0x1f || infiniband.aeth.syndrome == 0'],
  ['qp 0x11-0x13', 'infiniband.bth.destqp >= 0x11 && infiniband.bth.destqp <= 0x13'],
  ['msn 2', 'infiniband.aeth.msn == 2'],
  ['rkey > 0x1000', 'infiniband.reth.r_key > 0x1000'],
  ['ackreq and not solicited', 'infiniband.bth.a == 1 && infiniband.bth.se == 0'],
  ['pad 1-3', 'infiniband.bth.padcnt > 0'],
  ['len > 1000', 'frame.len > 1000'],
  ['frame 100-200,7', 'frame.number in {100 .. 200, 7}'],
  ['src port 49152-65535', 'udp.srcport >= 49152 || tcp.srcport >= 49152'],
  ['port 18515', 'tcp.port == 18515 || udp.port == 18515'],
  ['ether dst ff:ff:ff:ff:ff:ff', 'eth.dst == ff:ff:ff:ff:ff:ff'],
  ['ttl 64 and ip', 'ip.ttl == 64'],
  ['ecn 0 and roce', 'ip.dsfield.ecn == 0 && infiniband.bth'],
  [
    'net 10.77.0.0/31',
    'ip.addr == 10.77.0.0/31 || arp.src.proto_ipv4 == 10.77.0.0/31 || arp.dst.proto_ipv4 == 10.77.0.0/31',
  ],
  ['infiniband.bth.psn != 5 and infiniband.bth.psn < 8000000'],
  ['infiniband.reth.va >= 0x7f0000000000 || infiniband.reth.dmalen == 8'],
  ['!(infiniband.bth.destqp == 0x11) && ip.addr != 10.77.0.1'],
  ['infiniband.cm.rep.startpsn > 1 or infiniband.cm.req.retrcount == 7'],
  ['infiniband.atomiceth.swapdt or infiniband.immdt'],
  ['ip.src == 10.77.0.0/31 and frame.len le 70'],
  ['udp.port == 4791 and not udp.port != 4791'],
];

describeWith('tshark', 'filters beside tshark', () => {
  for (const name of RXE_CAPTURES) {
    it.each(PAIRS)(`${name}: %s`, async (ours = '', theirs = ours) => {
      const rows = await tsharkRows(rxeCapturePath(name), ['frame.number'], { filter: theirs });
      expect(framesThatPass(rxeCapture(name), ours)).toEqual(rows.map((row) => Number(row.get('frame.number')?.[0])));
    });
  }
});
