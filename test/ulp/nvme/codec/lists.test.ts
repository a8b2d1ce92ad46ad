// Goal: lists and pages of variable length, read from what peers sent whatever it is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AddressFamily,
  AnaState,
  blockBytesOf,
  encodeAnaLog,
  encodeDiscoveryLog,
  encodeNamespaceDescriptors,
  encodeNamespaceList,
  IDENTIFY_CONTROLLER,
  IDENTIFY_NAMESPACE,
  NamespaceIdType,
  readAnaLog,
  readDiscoveryLog,
  readNamespaceDescriptors,
  readNamespaceList,
  SubsystemType,
  TransportType,
} from '../../../../src/ulp/nvme/codec/index.ts';

describe('a list of namespaces', () => {
  it('ends with a 0 or with the page', () => {
    expect(readNamespaceList(encodeNamespaceList([1, 2, 0xff_ff_ff_fe]))).toEqual([1, 2, 0xff_ff_ff_fe]);
    const full = Array.from({ length: 1024 }, (_, i) => i + 1);
    expect(readNamespaceList(encodeNamespaceList(full))).toEqual(full);
    expect(readNamespaceList(new Uint8Array(4096))).toEqual([]);
    expect(readNamespaceList(Uint8Array.of(1, 0, 0, 0, 2, 0, 0))).toEqual([1]);
    expect(() => encodeNamespaceList([...full, 1025])).toThrow(/1024/);
  });
});

describe('identifiers of a namespace', () => {
  const UUID = Uint8Array.from({ length: 16 }, (_, i) => i);

  it('are read up to the first of length 0', () => {
    const all = [
      { type: NamespaceIdType.Uuid, id: UUID },
      { type: NamespaceIdType.CommandSet, id: Uint8Array.of(0) },
    ];
    const page = encodeNamespaceDescriptors(all);
    expect([...page.subarray(0, 8)]).toEqual([3, 16, 0, 0, 0, 1, 2, 3]);
    expect([...page.subarray(20, 26)]).toEqual([4, 1, 0, 0, 0, 0]);
    expect(readNamespaceDescriptors(page)).toEqual(all);
    expect(readNamespaceDescriptors(page.subarray(0, 19))).toEqual([]);
  });

  it('are read from any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096 }), (data) => {
        for (const { id } of readNamespaceDescriptors(data)) expect(id.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('the discovery log', () => {
  const ENTRY = {
    trtype: TransportType.Rdma,
    adrfam: AddressFamily.Ipv4,
    subtype: SubsystemType.Nvme,
    portid: 1,
    cntlid: 0xff_ff,
    asqsz: 32,
    trsvcid: '4420',
    subnqn: 'nqn.2026-11.example:ram',
    traddr: '10.0.0.2',
    rdmaQptype: 1,
    rdmaPrtype: 4,
    rdmaCms: 1,
  };

  it('is read as it was written', () => {
    const log = readDiscoveryLog(encodeDiscoveryLog(7n, [ENTRY, ENTRY]));
    expect(log?.header).toMatchObject({ genctr: 7n, numrec: 2n });
    expect(log?.entries).toHaveLength(2);
    expect(log?.entries[1]).toMatchObject(ENTRY);
  });

  it('that claims more entries than it has gives those it has', () => {
    const data = encodeDiscoveryLog(7n, [ENTRY]);
    data.fill(0xff, 8, 16);
    expect(readDiscoveryLog(data)?.entries).toHaveLength(1);
    expect(readDiscoveryLog(data.subarray(0, 1023))).toBeUndefined();
    data[16] = 1;
    expect(readDiscoveryLog(data)).toBeUndefined();
  });
});

describe('the ANA log', () => {
  it('has groups of any length', () => {
    const groups = [
      { grpid: 1, chgcnt: 2n, state: AnaState.Optimized, nsids: [1, 5] },
      { grpid: 2, chgcnt: 0n, state: AnaState.Inaccessible, nsids: [] },
      { grpid: 3, chgcnt: 9n, state: AnaState.Change, nsids: [7] },
    ];
    const data = encodeAnaLog(3n, groups);
    expect(data).toHaveLength(16 + 3 * 32 + 3 * 4);
    expect(readAnaLog(data)).toEqual({ header: { chgcnt: 3n, ngrps: 3 }, groups });
    expect(readAnaLog(data.subarray(0, -1))?.groups).toEqual(groups.slice(0, 2));
    expect(readAnaLog(data.subarray(0, 15))).toBeUndefined();
  });

  it('is read from any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 512 }), (data) => {
        expect((readAnaLog(data)?.groups ?? []).length).toBeLessThanOrEqual(data.length / 32);
      }),
    );
  });
});

describe('a namespace', () => {
  it('has the blocks of its format', () => {
    const lbaf = [{ lbads: 9 }, { lbads: 12, ms: 8 }];
    const of = (values: object) => {
      const namespace = IDENTIFY_NAMESPACE.read(IDENTIFY_NAMESPACE.encode({ lbaf, ...values }));
      return namespace === undefined ? 'none' : blockBytesOf(namespace);
    };
    expect([of({ flbas: 0 }), of({ flbas: 1 }), of({ flbas: 0x11 }), of({ flbas: 2 })]).toEqual([
      512,
      4096,
      4096,
      undefined,
    ]);
    expect(of({ flbas: 0x20, lbaf: [...new Array(16).fill({}), { lbads: 13 }] })).toBe(8192);
    expect(of({ flbas: 0, lbaf: [{ lbads: 255 }] })).toBeUndefined();
  });

  it('of a size that no number holds is a bigint', () => {
    const nsze = 2n ** 64n - 1n;
    expect(IDENTIFY_NAMESPACE.read(IDENTIFY_NAMESPACE.encode({ nsze }))?.nsze).toBe(nsze);
  });
});

describe('the identity of a controller', () => {
  it('has what Linux insists on at its place', () => {
    const data = IDENTIFY_CONTROLLER.encode({
      sglsKeyed: true,
      sglsOffset: true,
      ioccsz: 260,
      sqes: 0x66,
      oncsVerify: true,
    });
    expect([...data.subarray(536, 540)]).toEqual([4, 0, 0x10, 0]);
    expect([...data.subarray(1792, 1796)]).toEqual([4, 1, 0, 0]);
    expect([data[512], data[520]]).toEqual([0x66, 0x80]);
  });
});
