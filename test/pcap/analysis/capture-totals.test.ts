/** Goal: RoCEv2 packets are counted by the priority that they travel with. Method: dissections made by hand. */
import { expect, it } from 'vitest';
import { FrameStatus } from '../../../packets/frame.ts';
import { CaptureTotals } from '../../../pcap/analysis/capture-totals.ts';
import { MutableFacts } from '../../../pcap/analysis/tracker/mutable-facts.ts';
import { Dissection, IcrcState } from '../../../pcap/dissection.ts';

it('counts packets by the priority of their tag, and else by that of their DSCP', () => {
  const totals = new CaptureTotals();
  const { packet } = new MutableFacts();
  const count = (vlanTci: number, dscp: number, status: FrameStatus = FrameStatus.Ok): void => {
    const dissection = new Dissection();
    dissection.status = status;
    dissection.frame.vlanTci = vlanTci;
    dissection.frame.trafficClass = (dscp << 2) | 2;
    totals.count(packet, dissection, IcrcState.Good, 0);
  };
  count(0xe0_64, 26);
  count(0x00_64, 26);
  count(-1, 26);
  count(-1, 26);
  count(-1, 63);
  count(-1, 46, FrameStatus.NotRoce);
  expect(totals.byPriority).toEqual([1, 0, 0, 2, 0, 0, 0, 2]);
});
