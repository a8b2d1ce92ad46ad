/**
 * What is written below /sys of a device: names, texts and the table of GIDs, as libibverbs and librdmacm parse them.
 */
import { expect, it } from 'vitest';
import { attachDevice, World } from '../../src/index.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';

const PORT = 'class/infiniband/rxe0/ports/1';
const EMPTY = '0000:0000:0000:0000:0000:0000:0000:0000';

it('describes a device of rdma_rxe, with its GIDs in the order of their indexes', () => {
  const device = attachDevice(new World({ seed: 1 }), 'device', {
    addresses: ['10.0.0.1/24', 'fd00::1/64'],
    mac: '02:00:0a:00:00:01',
    mtu: 1500,
  });
  const files = createUverbsServer(device, { netdev: 'eth7' }).sysfs();
  const gids = [0, 1, 2, 3, 4].map((index) => files.get(`${PORT}/gids/${index}`));
  // The link-local one is not among the addresses, and has its place all the same.
  expect(gids).toEqual([
    'fe80:0000:0000:0000:0000:0aff:fe00:0001',
    '0000:0000:0000:0000:0000:ffff:0a00:0001',
    'fd00:0000:0000:0000:0000:0000:0000:0001',
    // One more than there are: programs look for an empty index.
    EMPTY,
    undefined,
  ]);
  for (const index of [0, 1, 2]) {
    expect(files.get(`${PORT}/gid_attrs/types/${index}`)).toBe('RoCE v2');
    expect(files.get(`${PORT}/gid_attrs/ndevs/${index}`)).toBe('eth7');
  }
  expect(files.get(`${PORT}/gid_attrs/types/3`)).toBe('IB/RoCE v1');
  expect(files.has(`${PORT}/gid_attrs/ndevs/3`)).toBe(false);
  expect(files.get('class/infiniband/rxe0/node_guid')).toMatch(/^[0-9a-f]{4}(:[0-9a-f]{4}){3}$/);
  expect(files.get('class/infiniband/rxe0/sys_image_guid')).toBe(files.get('class/infiniband/rxe0/node_guid'));
  expect([files.get(`${PORT}/state`), files.get(`${PORT}/link_layer`)]).toEqual(['4: ACTIVE', 'Ethernet']);
  expect(files.get('class/infiniband_verbs/uverbs0/ibdev')).toBe('rxe0');
  expect(files.get('class/infiniband_verbs/abi_version')).toBe('6');
  // No text has a newline: who writes the files ends each with one.
  for (const [path, text] of files) expect([path, text.includes('\n')]).toEqual([path, false]);
});

it('is on an interface that every machine has, unless another is named', () => {
  const device = attachDevice(new World({ seed: 1 }), 'device', { addresses: ['10.0.0.1/24'], mtu: 1500 });
  const files = createUverbsServer(device).sysfs();
  expect([files.get(`${PORT}/gid_attrs/ndevs/0`), files.get('class/infiniband/rxe0/parent')]).toEqual(['lo', 'lo']);
});

it('names a link-local address once, where the device has it', () => {
  const addresses = ['10.0.0.1/24', 'fe80::aff:fe00:1/64'];
  const device = attachDevice(new World({ seed: 1 }), 'device', { addresses, mac: '02:00:0a:00:00:01', mtu: 1500 });
  const files = createUverbsServer(device, { netdev: 'eth7' }).sysfs();
  expect(files.get(`${PORT}/gids/0`)).toBe('fe80:0000:0000:0000:0000:0aff:fe00:0001');
  expect(files.get(`${PORT}/gids/1`)).toBe('0000:0000:0000:0000:0000:ffff:0a00:0001');
  expect(files.get(`${PORT}/gids/2`)).toBe(EMPTY);
});
