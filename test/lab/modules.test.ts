// Goal: modules load in an order that works, and broken files are "nothing found". Method: small ELF files and kernels
// made here.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elfSection, moduleInfo, neededLibraries } from '../../tools/lab/elf.ts';
import { bzImagePayload } from '../../tools/lab/kernel.ts';
import {
  moduleDependencies,
  moduleName,
  parseBuiltin,
  resolveModules,
  writeModulesDep,
} from '../../tools/lab/modules.ts';

describe('an ELF file', () => {
  const file = elf({
    '.modinfo': Buffer.from(
      'license=GPL\0depends=ib_core,udp-tunnel\0softdep=pre: crc32c post: later\0alias=a\0alias=b\0',
    ),
    '.dynstr': Buffer.from('\0libc.so.6\0libm.so.6\0'),
    '.dynamic': dynamic([
      [1, 1],
      [5, 77],
      [1, 11],
      [0, 0],
    ]),
  });

  it('gives its sections by name', () => {
    expect(elfSection(file, '.dynstr')?.length).toBe(21);
    expect(elfSection(file, '.absent')).toBeUndefined();
  });

  it('names the libraries it needs', () => {
    expect(neededLibraries(file)).toEqual(['libc.so.6', 'libm.so.6']);
  });

  it("tells a module's description, each key as often as it occurs", () => {
    expect(moduleInfo(file).get('alias')).toEqual(['a', 'b']);
    expect(moduleDependencies(file)).toEqual(['ib_core', 'udp_tunnel', 'crc32c']);
  });

  it('never throws, whatever bytes it is made of', () => {
    const edits = fc.array(fc.tuple(fc.nat(file.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1 });
    fc.assert(
      fc.property(edits, fc.nat(file.length), (changes, length) => {
        const bytes = Uint8Array.from(file);
        for (const [at, value] of changes) bytes[at] = value;
        expect(Array.isArray(neededLibraries(bytes.subarray(0, length)))).toBe(true);
        expect(moduleInfo(bytes.subarray(0, length))).toBeInstanceOf(Map);
      }),
    );
  });
});

describe('resolveModules', () => {
  const tree: Readonly<Record<string, string>> = {
    rdma_rxe: 'ib_core,udp_tunnel',
    ib_core: 'builtin_one,absent_alias',
    udp_tunnel: '',
    rdma_ucm: 'rdma_cm',
    rdma_cm: 'ib_core',
  };
  const source = {
    builtin: parseBuiltin('kernel/lib/builtin-one.ko\nkernel/drivers/virtio/virtio_pci.ko\n'),
    mayBeAbsent: new Set(['crc32_generic']),
    load: async (name: string) => {
      const depends = tree[name];
      return depends === undefined ? undefined : elf({ '.modinfo': Buffer.from(`depends=${depends}\0`) });
    },
  };

  it('puts each module after all it depends on, once, without what is built in', async () => {
    const modules = await resolveModules(['virtio_pci', 'crc32_generic', 'rdma_rxe', 'rdma_ucm'], source);
    expect(modules.map(({ name }) => name)).toEqual(['ib_core', 'udp_tunnel', 'rdma_rxe', 'rdma_cm', 'rdma_ucm']);
    expect(writeModulesDep(modules)).toBe(
      'ib_core.ko:\nudp_tunnel.ko:\nrdma_rxe.ko: udp_tunnel.ko ib_core.ko\nrdma_cm.ko: ib_core.ko\nrdma_ucm.ko: rdma_cm.ko ib_core.ko\n',
    );
  });

  it('says which wanted module a kernel does not have', async () => {
    await expect(resolveModules(['siw'], source)).rejects.toThrow(/no module siw/);
  });

  it('knows a module by its file name, compressed or not', () => {
    expect(moduleName('kernel/net/ipv4/udp-tunnel.ko.xz')).toBe('udp_tunnel');
    expect(moduleName('a/b.ko.zst')).toBe('b');
    expect(moduleName('a/b.ko')).toBe('b');
    expect(moduleName('modules.builtin')).toBeUndefined();
  });
});

describe('bzImagePayload', () => {
  it('finds the compressed kernel, without the size at its end', () => {
    const image = bzImage(Buffer.from('28b52ffd0102', 'hex'), 1234);
    expect(bzImagePayload(image)).toEqual({ start: 1024 + 16, end: 1024 + 22, format: 'zst', uncompressedBytes: 1234 });
    expect(bzImagePayload(bzImage(Buffer.from('fd377a585a00', 'hex'), 1))?.format).toBe('xz');
  });

  it('leaves alone what it does not know', () => {
    expect(bzImagePayload(bzImage(Buffer.from('1f8b0800', 'hex'), 1))).toBeUndefined();
    expect(bzImagePayload(new Uint8Array(0x250))).toBeUndefined();
    expect(bzImagePayload(bzImage(Buffer.from('28b52ffd', 'hex'), 1).subarray(0, 1030))).toBeUndefined();
  });
});

function elf(sections: Readonly<Record<string, Buffer>>): Buffer {
  const names = Buffer.from(`\0${[...Object.keys(sections), '.shstrtab'].join('\0')}\0`);
  const bodies = [...Object.entries(sections), ['.shstrtab', names] as const];
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  const table = Buffer.alloc(64 * (bodies.length + 1));
  let offset = 64;
  for (const [index, [name, body]] of bodies.entries()) {
    const at = 64 * (index + 1);
    table.writeUInt32LE(names.indexOf(`\0${name}\0`) + 1, at);
    table.writeUInt32LE(offset, at + 24);
    table.writeUInt32LE(body.length, at + 32);
    offset += body.length;
  }
  header.writeUInt32LE(offset, 40);
  header.writeUInt16LE(64, 58);
  header.writeUInt16LE(bodies.length + 1, 60);
  header.writeUInt16LE(bodies.length, 62);
  return Buffer.concat([header, ...bodies.map(([, body]) => body), table]);
}

function dynamic(entries: readonly (readonly [number, number])[]): Buffer {
  const bytes = Buffer.alloc(entries.length * 16);
  for (const [index, [tag, value]] of entries.entries()) {
    bytes.writeUInt32LE(tag, index * 16);
    bytes.writeUInt32LE(value, index * 16 + 8);
  }
  return bytes;
}

function bzImage(payload: Buffer, uncompressedBytes: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(uncompressedBytes);
  const setup = Buffer.alloc(1024 + 16);
  setup.writeUInt8(1, 0x1f1);
  setup.write('HdrS', 0x202, 'latin1');
  setup.writeUInt16LE(0x020f, 0x206);
  setup.writeUInt32LE(16, 0x248);
  setup.writeUInt32LE(payload.length + 4, 0x24c);
  return Buffer.concat([setup, payload, size]);
}
