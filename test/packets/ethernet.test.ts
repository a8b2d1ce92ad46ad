import { describe, expect, it } from 'vitest';
import {
  ETHERNET_BYTES,
  readEthernet,
  readVlanTag,
  VLAN_TAG_BYTES,
  writeEthernet,
  writeVlanTag,
} from '../../packets/ethernet.ts';
import { exactView, fromHex, written } from './support.ts';

describe('Ethernet', () => {
  const dest = fromHex('525400000002');
  const source = fromHex('525400000001');

  it('writes destination, source and EtherType', () => {
    const hex = written(ETHERNET_BYTES, (view, at) => writeEthernet(view, at, dest, source, 0x86dd));
    expect(hex).toBe('52540000000252540000000186dd');
  });

  it('reads them into fresh bytes', () => {
    const bytes = fromHex('5254000000025254000000010800');
    const header = readEthernet(exactView(bytes), 0);
    expect(header).toEqual({ destMac: dest, sourceMac: source, etherType: 0x0800 });
  });

  it('writes and reads the parts of a VLAN tag', () => {
    expect(written(VLAN_TAG_BYTES, (view, at) => writeVlanTag(view, at, 0xb1_23, 0x0800))).toBe('b1230800');
    expect(readVlanTag(exactView(fromHex('b1230800')), 0)).toEqual({ pcp: 5, dei: 1, vid: 0x123, etherType: 0x0800 });
  });
});
