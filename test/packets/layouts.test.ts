/**
 * The declared headers as the oracle of the hand-written codecs.
 *
 * Goal: two descriptions of each header, written apart, agree on all bytes. Method: for random bytes the record that
 * readXxx makes equals the declared fields, and what writeXxx makes of that record equals what the declaration encodes,
 * reserved bits 0 in both.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { readAeth, writeAeth } from '../../packets/aeth.ts';
import { readArp, writeArp } from '../../packets/arp.ts';
import { readAtomicAckEth, writeAtomicAckEth } from '../../packets/atomic-ack-eth.ts';
import { readAtomicEth, writeAtomicEth } from '../../packets/atomic-eth.ts';
import { readBth, writeBth, writeBthCongestion } from '../../packets/bth.ts';
import { writeCnp } from '../../packets/cnp.ts';
import { readDeth, writeDeth } from '../../packets/deth.ts';
import { RoceError } from '../../packets/errors.ts';
import { ETHERNET_BYTES, readEthernet, readVlanTag, writeEthernet, writeVlanTag } from '../../packets/ethernet.ts';
import { readFeth, writeFeth } from '../../packets/feth.ts';
import { readGrh, writeGrh } from '../../packets/grh.ts';
import { readIeth, writeIeth } from '../../packets/ieth.ts';
import { readImmDt, writeImmDt } from '../../packets/imm-dt.ts';
import { readIpv4, writeIpv4 } from '../../packets/ipv4.ts';
import { readIpv6, writeIpv6 } from '../../packets/ipv6.ts';
import { decodeLayout, encodeLayout, LAYOUTS, type LayoutName, type LayoutValues } from '../../packets/layouts.ts';
import { HEADER_BYTES } from '../../packets/opcode.ts';
import { PFC_FRAME_BYTES, readPfc, writePfc } from '../../packets/pfc.ts';
import { readRdeth, writeRdeth } from '../../packets/rdeth.ts';
import { readReth, writeReth } from '../../packets/reth.ts';
import { readUdp, writeUdp } from '../../packets/udp.ts';
import { readXrceth, writeXrceth } from '../../packets/xrceth.ts';
import { exactView, fromHex, toHex, written } from './support.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Reads a record at 0 and gives it with a writer of the same record. */
type Codec = (view: DataView) => { record: object; write: (view: DataView, at: number) => void } | undefined;

const high = (value: bigint) => Number(value >> 32n);
const low = (value: bigint) => Number(value & 0xff_ff_ff_ffn);

const CODECS: Readonly<Record<LayoutName, Codec>> = {
  Ethernet: (view) => {
    const record = readEthernet(view, 0);
    const { destMac, sourceMac, etherType } = record;
    return { record, write: (v, at) => writeEthernet(v, at, destMac, sourceMac, etherType) };
  },
  VLAN: (view) => {
    const record = readVlanTag(view, 0);
    const tci = (record.pcp << 13) | (record.dei << 12) | record.vid;
    return { record, write: (v, at) => writeVlanTag(v, at, tci, record.etherType) };
  },
  ARP: (view) => {
    const arp = readArp(view, 0, view.byteLength);
    if (arp === undefined) return undefined;
    const fixed = { hardwareType: 1, protocolType: 0x0800, hardwareLength: 6, protocolLength: 4 };
    return { record: { ...fixed, ...arp }, write: (v, at) => writeArp(v, at, arp) };
  },
  PFC: (view) => {
    // The codec has the frame with its Ethernet header and padding, the declaration what is between them.
    const whole = new Uint8Array(PFC_FRAME_BYTES);
    writePfc(new DataView(whole.buffer), 0, new Uint8Array(6), 0, []);
    for (let i = 0; i < PFC_BODY_BYTES; i++) whole[ETHERNET_BYTES + i] = view.getUint8(i);
    const pfc = readPfc(new DataView(whole.buffer), 0, whole.length);
    if (pfc === undefined) return undefined;
    const { sourceMac, enableVector, quanta } = pfc;
    const record = { opcode: 0x0101, enableVector, ...Object.fromEntries(quanta.map((q, i) => [`quanta${i}`, q])) };
    return {
      record,
      write: (v, at) => {
        writePfc(new DataView(whole.buffer), 0, sourceMac, enableVector, quanta);
        for (let i = 0; i < PFC_BODY_BYTES; i++) v.setUint8(at + i, whole[ETHERNET_BYTES + i] ?? 0xff);
      },
    };
  },
  IPv4: (view) => {
    const record = readIpv4(view, 0);
    return { record, write: (v, at) => writeIpv4(v, at, record) };
  },
  IPv6: (view) => {
    const record = readIpv6(view, 0);
    return { record, write: (v, at) => writeIpv6(v, at, record) };
  },
  UDP: (view) => {
    const record = readUdp(view, 0);
    const { sourcePort, destPort, length, checksum } = record;
    return { record, write: (v, at) => writeUdp(v, at, sourcePort, destPort, length, checksum) };
  },
  BTH: (view) => {
    const record = readBth(view, 0);
    const { opcode, solicited, migReq, padCount, pkey, fecn, becn, destQpn, ackReq, psn } = record;
    return {
      record,
      write: (v, at) => {
        writeBth(v, at, opcode, solicited, migReq, padCount, pkey, destQpn, ackReq, psn);
        writeBthCongestion(v, at, fecn, becn);
      },
    };
  },
  RDETH: (view) => {
    const record = readRdeth(view, 0);
    return { record, write: (v, at) => writeRdeth(v, at, record.eeContext) };
  },
  DETH: (view) => {
    const record = readDeth(view, 0);
    return { record, write: (v, at) => writeDeth(v, at, record.qkey, record.sourceQpn) };
  },
  XRCETH: (view) => {
    const record = readXrceth(view, 0);
    return { record, write: (v, at) => writeXrceth(v, at, record.xrcSrq) };
  },
  FETH: (view) => {
    const record = readFeth(view, 0);
    return { record, write: (v, at) => writeFeth(v, at, record.placement, record.selectivity) };
  },
  RETH: (view) => {
    const record = readReth(view, 0);
    const { va, rkey, dmaLength } = record;
    return { record, write: (v, at) => writeReth(v, at, high(va), low(va), rkey, dmaLength) };
  },
  AETH: (view) => {
    const record = readAeth(view, 0);
    return { record, write: (v, at) => writeAeth(v, at, record.syndrome, record.msn) };
  },
  AtomicETH: (view) => {
    const record = readAtomicEth(view, 0);
    const { va, rkey, swapAdd, compare } = record;
    const halves = [high(va), low(va), rkey, high(swapAdd), low(swapAdd), high(compare), low(compare)] as const;
    return { record, write: (v, at) => writeAtomicEth(v, at, ...halves) };
  },
  AtomicAckETH: (view) => {
    const record = readAtomicAckEth(view, 0);
    return { record, write: (v, at) => writeAtomicAckEth(v, at, high(record.original), low(record.original)) };
  },
  ImmDt: (view) => {
    const record = readImmDt(view, 0);
    return { record, write: (v, at) => writeImmDt(v, at, record.immDt) };
  },
  IETH: (view) => {
    const record = readIeth(view, 0);
    return { record, write: (v, at) => writeIeth(v, at, record.rkey) };
  },
  CNP: () => ({
    record: {},
    write: (v, at) => {
      const whole = new Uint8Array(28);
      writeCnp(new DataView(whole.buffer), 0, 0xff_ff, 1, 1);
      for (let i = 0; i < 16; i++) v.setUint8(at + i, whole[12 + i] ?? 0xff);
    },
  }),
  GRH: (view) => {
    const record = readGrh(view, 0);
    return { record, write: (v, at) => writeGrh(v, at, record) };
  },
};

/** Without these bytes there is no such message. */
const FIXED_BEGINNINGS: Partial<Record<LayoutName, string>> = { ARP: '000108000604', PFC: '0101' };
const PFC_BODY_BYTES = 20;

const NAMES = Object.keys(LAYOUTS).filter((name): name is LayoutName => name in CODECS);

/** The declared values without the reserved fields. */
function meaningful(name: LayoutName, values: LayoutValues): LayoutValues {
  const reserved = new Set(LAYOUTS[name].fields.filter((field) => field.reserved).map((field) => field.name));
  return Object.fromEntries(Object.entries(values).filter(([key]) => !reserved.has(key)));
}

/** A record with its addresses as bytes, cut to the size that the header has for them. */
function asLayoutValues(name: LayoutName, record: object): LayoutValues {
  const bitsOf = new Map(LAYOUTS[name].fields.map((field) => [field.name, field.bits]));
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => {
      if (!(value instanceof IpAddress)) return [key, value];
      const bytes = new Uint8Array((bitsOf.get(key) ?? 0) / 8);
      if (bytes.length === 16) value.writeGid(new DataView(bytes.buffer), 0);
      else value.write(new DataView(bytes.buffer), 0);
      return [key, bytes];
    }),
  );
}

/** Random bytes; half of the time a valid beginning where a reader demands one. */
function headerBytes(name: LayoutName): fc.Arbitrary<Uint8Array> {
  const { byteLength } = LAYOUTS[name];
  const random = fc.uint8Array({ minLength: byteLength, maxLength: byteLength });
  const begin = fromHex(FIXED_BEGINNINGS[name] ?? '');
  return random.map((bytes) => Uint8Array.from([...begin, ...bytes.slice(begin.length)]));
}

describe.each(NAMES)('the %s layout', (name) => {
  const layout = LAYOUTS[name];

  it('reads the same fields as the hand-written reader, for all bytes', () => {
    fc.assert(
      fc.property(headerBytes(name), (bytes) => {
        const declared = decodeLayout(layout, bytes) ?? {};
        const record = CODECS[name](exactView(bytes))?.record ?? {};
        expect(asLayoutValues(name, record)).toEqual(meaningful(name, declared));
      }),
    );
  });

  it('encodes the same bytes as the hand-written writer, for all records', () => {
    fc.assert(
      fc.property(headerBytes(name), (bytes) => {
        // The one field that a writer does not take: writeBth always writes the only version there is.
        const fixed = name === 'BTH' ? { transportVersion: 0 } : {};
        const values = { ...meaningful(name, decodeLayout(layout, bytes) ?? {}), ...fixed };
        const encoded = new Uint8Array(layout.byteLength).fill(0xa5);
        expect(encodeLayout(layout, values, encoded)).toBe(layout.byteLength);
        const codec = CODECS[name](exactView(bytes));
        expect(written(layout.byteLength, (view, at) => codec?.write(view, at))).toBe(toHex(encoded));
      }),
    );
  });

  it('gives back all bytes, reserved ones too, when what it decoded is encoded again', () => {
    fc.assert(
      fc.property(headerBytes(name), (bytes) => {
        const again = new Uint8Array(bytes.length);
        encodeLayout(layout, decodeLayout(layout, bytes) ?? {}, again);
        expect(again).toEqual(bytes);
      }),
    );
  });

  it('accounts for every bit once, under names of their own', () => {
    let bitOffset = 0;
    for (const field of layout.fields) {
      expect(field.bitOffset).toBe(bitOffset);
      expect(field.name).not.toBe('');
      bitOffset += field.bits;
    }
    expect(bitOffset).toBe(8 * layout.byteLength);
    expect(new Set(layout.fields.map((field) => field.name)).size).toBe(layout.fields.length);
  });
});

describe('layouts', () => {
  it('have the sizes that the opcode table works with', () => {
    for (const [name, bytes] of Object.entries(HEADER_BYTES)) {
      expect(Object.entries(LAYOUTS).find(([key]) => key === name)?.[1].byteLength).toBe(bytes);
    }
    expect(LAYOUTS.BTH.byteLength).toBe(12);
  });

  it('decode at an offset, and give undefined for a header that is cut short', () => {
    const bytes = fromHex('a5a5 1f000006');
    expect(decodeLayout(LAYOUTS.AETH, bytes, 2)).toEqual({ syndrome: 0x1f, msn: 6 });
    expect(decodeLayout(LAYOUTS.AETH, bytes, 3)).toBeUndefined();
    expect(decodeLayout(LAYOUTS.AETH, bytes, -1)).toBeUndefined();
  });

  it.each([
    ['a missing field', { syndrome: 1 }, 0],
    ['a value that is too large', { syndrome: 256, msn: 0 }, 0],
    ['a negative value', { syndrome: -1, msn: 0 }, 0],
    ['a fraction', { syndrome: 0.5, msn: 0 }, 0],
    ['a bigint for a number', { syndrome: 1n, msn: 0 }, 0],
    ['too few bytes', { syndrome: 1, msn: 0 }, 1],
  ])('refuse to encode %s', (_, values, offset) => {
    const bytes = new Uint8Array(4).fill(0xa5);
    expect(() => encodeLayout(LAYOUTS.AETH, values, bytes, offset)).toThrow(RoceError);
    expect(toHex(bytes)).toBe('a5a5a5a5');
  });

  it('refuse a number for 64 bits and addresses of another size', () => {
    const bytes = new Uint8Array(64);
    expect(() => encodeLayout(LAYOUTS.AtomicAckETH, { original: 1 }, bytes)).toThrow(RoceError);
    expect(() => encodeLayout(LAYOUTS.AtomicAckETH, { original: 1n << 64n }, bytes)).toThrow(RoceError);
    const ethernet = { destMac: new Uint8Array(5), sourceMac: new Uint8Array(6), etherType: 0 };
    expect(() => encodeLayout(LAYOUTS.Ethernet, ethernet, bytes)).toThrow(RoceError);
  });

  it('need no Buffer to run', () => {
    vi.stubGlobal('Buffer', undefined);
    const bytes = Uint8Array.from({ length: 64 }, (_, i) => 255 - i);
    for (const layout of Object.values(LAYOUTS)) {
      const again = new Uint8Array(64);
      encodeLayout(layout, decodeLayout(layout, bytes) ?? {}, again);
      expect(again.slice(0, layout.byteLength)).toEqual(bytes.slice(0, layout.byteLength));
    }
  });

  it('load from a package that touches nothing outside the language while it loads', () => {
    const source = readFileSync(createRequire(import.meta.url).resolve('buffer-layout'), 'utf8');
    const exported: Record<string, unknown> = {};
    // A context of its own has no Buffer, no require, no process: a mention of them at load would throw.
    runInNewContext(source, { exports: exported });
    expect(Object.keys(exported)).toContain('BitStructure');
  });
});
