/**
 * Goal: a program is told of the device and of its port what rdma_rxe of 6.12 would tell it, and the limits that are
 * kept here. Method: every number of the answers, and that nothing else is in them.
 */
import { expect, it } from 'vitest';
import type { Struct } from '../../src/uverbs/abi/struct.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { makeEnds } from './support/ends.ts';
import { pick } from './support/program.ts';

/** The numbers of a structure that are not 0. */
function numbersOf(layout: Struct, bytes: Uint8Array): Record<string, number> {
  const names = Object.keys(layout.members).filter((name) => (layout.members[name]?.size ?? 0) <= 8);
  return Object.fromEntries(names.map((name) => [name, pick(layout, bytes, name)]).filter(([, value]) => value !== 0));
}

it('has one port of Ethernet, which is up', async () => {
  const { left } = await makeEnds();
  const port = await left.program.ok('QUERY_PORT', V.QUERY_PORT, { port_num: 1 });
  expect(numbersOf(V.QUERY_PORT_RESP, port)).toEqual({
    // A connection manager; messages of 2 GiB; the addresses of this device.
    ...{ port_cap_flags: 0x1_00_00, max_msg_sz: 0x80_00_00_00, gid_tbl_len: 3, pkey_tbl_len: 1 },
    // ACTIVE, 4096 and 1024 bytes, one lane of 2.5 Gb/s, LinkUp, Ethernet, a GRH in every packet.
    ...{ state: 4, max_mtu: 5, active_mtu: 3, max_vl_num: 1, active_width: 1, active_speed: 1, phys_state: 5 },
    ...{ link_layer: 2, flags: 1 },
  });
  for (const port_num of [0, 2])
    expect(await left.program.errno('QUERY_PORT', V.QUERY_PORT, { port_num })).toBe(Errno.EINVAL);
});

it('has the limits that are kept here', async () => {
  const { left } = await makeEnds();
  const { limits } = left.device;
  const device = await left.program.ok('QUERY_DEVICE', V.QUERY_DEVICE, {});
  expect(numbersOf(V.QUERY_DEVICE_RESP, device)).toMatchObject({
    ...{ max_qp: limits.maxQp, max_cq: limits.maxQp, max_srq: limits.maxSrq, max_mcast_grp: limits.maxMcastGrp },
    ...{ max_qp_rd_atom: limits.maxQpRdAtom, max_qp_init_rd_atom: limits.maxQpRdAtom, max_pkeys: 1 },
    ...{ phys_port_cnt: 1, local_ca_ack_delay: 15, atomic_cap: 1, vendor_id: 0xff_ff_ff, max_pd: 0x7f_fc },
    // Windows of type 2B, memory management extensions, SRQs that can be resized, path migration ... (6.12).
    device_cap_flags: 0x01_22_3c_76,
  });
});
