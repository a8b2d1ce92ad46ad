/**
 * Goal: `roce devinfo` prints a device's attributes as ibv_devinfo lays them out, and needs no link for it.
 * Method: devices of the simulated world, whole outputs; the command in a process of its own.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeDevice } from '../../tools/devinfo/report.ts';
import { addDevice, makeWorld } from './rping/support.ts';

const SHORT = `hca_id:	rocev2_0
	transport:			InfiniBand (0)
	fw_ver:				1.2.3
	node_guid:			0000:00ff:fe00:0001
	sys_image_guid:			0000:00ff:fe00:0001
	vendor_id:			0xffffff
	vendor_part_id:			0
	hw_ver:				0x0
	phys_port_cnt:			1
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		1024 (3)
			sm_lid:			0
			port_lid:		0
			port_lmc:		0x00
			link_layer:		Ethernet
`;

it('prints the short form as ibv_devinfo does', () => {
  const device = addDevice(makeWorld(), 1);
  expect(describeDevice(device, { version: '1.2.3' }).join('\n')).toBe(SHORT);
});

it('prints the VLAN, and in the verbose form what the device puts into packets', () => {
  const path = { trafficClass: 0x6a, hopLimit: 3, flowLabel: 0xabc, sourcePort: 50_000 };
  const device = addDevice(makeWorld(), 1, { vlan: { id: 5, priority: 3 }, path });
  const short = describeDevice(device, { version: '1.2.3' });
  expect(short.slice(-3)).toEqual(['\t\t\tlink_layer:\t\tEthernet', '\t\t\tvlan:\t\t\t5 (priority 3)', '']);
  expect(describeDevice(device, { version: '1.2.3', verbose: true })).toEqual(
    expect.arrayContaining([
      '\t\t\ttraffic_class:\t\t0x6a (DSCP 26, ECN 2)',
      '\t\t\thop_limit:\t\t3',
      '\t\t\tflow_label:\t\t0x00abc',
      '\t\t\tudp_sport:\t\t50000',
    ]),
  );
});

it('prints limits and the GID table in the verbose form', () => {
  const device = addDevice(makeWorld(), 1, { mtu: 4200, limits: { maxQp: 10 } });
  const lines = describeDevice(device, { version: '1.2.3', verbose: true });
  expect(lines).toEqual(
    expect.arrayContaining([
      '\tmax_qp:\t\t\t\t10',
      '\tmax_qp_rd_atom:\t\t\t128',
      '\tatomic_cap:\t\t\tATOMIC_HCA (1)',
      '\t\t\tactive_mtu:\t\t4096 (5)',
      '\t\t\tmax_msg_sz:\t\t0x80000000',
      '\t\t\tgid_tbl_len:\t\t2',
    ]),
  );
  expect(lines.slice(-3)).toEqual([
    '\t\t\tGID[  0]:\t\t::ffff:10.0.0.1, RoCE v2',
    '\t\t\tGID[  1]:\t\tfd00::1, RoCE v2',
    '',
  ]);
});

it('opens a device of its own where no link is named', () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['--import', 'tsx', 'tools/roce.ts', 'devinfo'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^hca_id:\trocev2_0\n[\s\S]*\tstate:\t+PORT_ACTIVE \(4\)\n/);
});
