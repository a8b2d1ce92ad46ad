/**
 * Flow labels and UDP source ports: what spreads connections over equal-cost paths, and keeps each on one of them.
 *
 * Owns two conversions, the conventions of Linux that all its RoCEv2 drivers share: a 20-bit label folded into the 14
 * bits of a port of 0xc000..0xffff (rdma:ib_verbs.h#rdma_flow_label_to_udp_sport), and the label of a connection that
 * was given none, the same at both ends (rdma:ib_verbs.h#rdma_calc_flow_label). Confirmed by the captures of rdma_rxe:
 * both ends of a connection send from the port that either label gives.
 */

/** Largest label: 20 bits. */
export const MAX_FLOW_LABEL = 0x0f_ff_ff;

/** The source port of packets with this label, 0xc000..0xffff. */
export function sourcePortOfFlowLabel(flowLabel: number): number {
  return PORT_BASE | ((flowLabel ^ (flowLabel >>> PORT_BITS)) & PORT_MASK);
}

/**
 * The label of a connection between two queue pairs, of 24-bit numbers, the same from either side; 0..MAX_FLOW_LABEL.
 */
export function flowLabelOfQpns(qpn: number, otherQpn: number): number {
  // 48 bits: exact in a double, but too many for the operators, so in three parts.
  const product = qpn * otherQpn;
  const high = Math.floor(product / 2 ** 40);
  const middle = Math.floor(product / 2 ** 20) % 2 ** 20;
  const low = product % 2 ** 20;
  return low ^ middle ^ high;
}

const PORT_BASE = 0xc0_00;
const PORT_BITS = 14;
const PORT_MASK = 0x3f_ff;
