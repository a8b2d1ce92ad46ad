/**
 * All queue pair numbers there are (ref:hostile#SEC-05). Method: one packet, its number counted up through all 24 bits;
 * the link has checked the ICRC, so that what is measured is the search for the queue pair.
 */
import { expect, it } from 'vitest';
import { FrameWriter, IpAddress, IpPrefix, Medium, Op, parseMac } from '../../packets/index.ts';
import { buildFrame } from '../../packets/kit/index.ts';
import { Prng } from '../../src/ground/prng.ts';
import { Device } from '../../src/index.ts';

const NUMBERS = 2 ** 24;
const BATCH = 256;
const BTH_QPN_AT = 28 + 5;

it('SEC-05 of all 2^24 queue pair numbers those that do not exist draw nothing, and each is counted', () => {
  const mac = parseMac('02:00:00:00:00:01');
  const addresses = [IpPrefix.parse('10.0.0.1/24')];
  const host = { now: () => 0, wake: () => {} };
  const link = { medium: Medium.Ip, mac, addresses, mtu: 4200, icrcOffload: true };
  const device = new Device({ host, random: new Prng(1), ...link });
  const cq = device.createCq(1);
  const qp = device.allocPd().createQp({ sendCq: cq, recvCq: cq });
  const route = {
    ...{ medium: Medium.Ip, sourceMac: mac, destMac: mac, sourcePort: 49_152, trafficClass: 0, hopLimit: 64 },
    ...{ source: IpAddress.parse('10.0.0.2'), destination: IpAddress.parse('10.0.0.1'), flowLabel: 0 },
  };
  const frame = buildFrame({ opcode: Op.SendOnly, psn: 0 }, route, 0, 0);
  const batch = new FrameWriter(BATCH, frame.length);
  for (let i = 0; i < BATCH; i++) batch.appendRaw(frame, 0, frame.length);
  const sent = new FrameWriter(1, 300);
  for (let first = 0; first < NUMBERS; first += BATCH) {
    for (let i = 0; i < BATCH; i++) {
      const at = (batch.starts[i] as number) + BTH_QPN_AT;
      batch.bytes[at] = first >>> 16;
      batch.bytes[at + 1] = first >>> 8;
      batch.bytes[at + 2] = i;
    }
    device.receive(batch);
    device.transmit(sent);
  }
  // The others: the queue pair, which is in RESET, queue pair 1, and the number of multicast.
  const { badQpn, otherGroup, receivedFrames } = device.counters;
  expect({ badQpn, otherGroup, receivedFrames, sent: sent.count }).toEqual({
    ...{ badQpn: NUMBERS - 3, otherGroup: 1, receivedFrames: NUMBERS, sent: 0 },
  });
  expect([device.gsi.counters.badOpcode, device.portCounters.badState, qp.stateName]).toEqual([1, 1, 'RESET']);
  expect(device.events.length).toBe(1);
});
