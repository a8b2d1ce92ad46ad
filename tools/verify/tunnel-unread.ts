/** The row for tunnels into which tshark does not look. */
import { type KnownDifference, Whatever } from './expectation.ts';

/** First of the table: of what was not read nothing can agree. */
export const TUNNEL_UNREAD: KnownDifference = {
  id: 'tunnel-unread',
  blind: 'tshark',
  versions: { from: '3.4.5' },
  fields: ['*'],
  when: ({ ours, theirs }) => ours.depth > 0 && ours.frame.bthOffset >= 0 && theirs['infiniband.bth.psn'] === undefined,
  says: () => Whatever,
  sometimes: true,
  tshark: 'does not look into VXLAN on port 8472, nor behind the control word of MPLS, unless it is told to',
  truth: 'pcap/tunnels: there is a RoCEv2 packet in it, whose ICRC says whether it was read rightly',
  source: 'measured with 4.0.17',
};
