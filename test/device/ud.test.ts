/**
 * Goal: datagrams between applications: address handles, the 40 bytes before the data, Q_Keys, and the ways a datagram
 * is lost. Method: two devices on a simulated Ethernet, over IPv4 and IPv6; what is received is compared byte for byte.
 */
import { describe, expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { GRH_IPV4_AT, readGrh } from '../../packets/grh.ts';
import { readIpv4 } from '../../packets/ipv4.ts';
import { solicitationFrame } from '../../src/device/host/neighbour-frames.ts';
import {
  Access,
  type Cq,
  type Device,
  formatMac,
  IpAddress,
  type MemoryRegion,
  type Pd,
  parseMac,
  type Qp,
  QpState,
  QpType,
  RoceError,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
} from '../../src/index.ts';
import { pattern } from '../transport/support/packets.ts';
import { makePair, type Pair, type PairOptions } from './support.ts';

const QKEY = 0x1111_1111;
const GRH = 40;

interface UdSide {
  readonly pd: Pd;
  readonly cq: Cq;
  readonly qp: Qp;
  readonly mr: MemoryRegion;
}

/** A UD queue pair in RTS, and memory full of 0xa5. */
function makeUd(device: Device, qkey = QKEY): UdSide {
  const pd = device.allocPd();
  const cq = device.createCq(64);
  const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
  qp.modifyNow({ state: QpState.Init, qkey });
  qp.modifyNow({ state: QpState.Rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn: 0xff_ff_ff });
  const mr = pd.regMr(8192, { access: Access.LocalWrite });
  mr.bytes.fill(0xa5);
  return { pd, cq, qp, mr };
}

interface Both extends Pair {
  readonly left: UdSide;
  readonly right: UdSide;
}

function makeBoth(options: PairOptions = {}): Both {
  const pair = makePair(options);
  return { ...pair, left: makeUd(pair.a), right: makeUd(pair.b) };
}

async function nextOf({ world }: Pair, { cq }: UdSide): Promise<WorkCompletion> {
  const { value } = await world.run(cq.next());
  return value;
}

async function refusal(made: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof made === 'function' ? made() : made);
  } catch (error) {
    if (error instanceof RoceError) return `${error.code} ${error.errno}`;
    throw error;
  }
  return 'nothing';
}

const ADDRESSES = [
  [4, '10.0.0.2'],
  [6, 'fd00::2'],
] as const;

describe('a datagram', () => {
  it.each(ADDRESSES)(
    'UD-03 UD-04 UD-08 UD-13 over IPv%i arrives behind the header it travelled under',
    async (version, address) => {
      const both = makeBoth();
      const { world, left, right } = both;
      const destination = IpAddress.parse(address);
      const ah = await world.run(left.pd.createAh({ destination, trafficClass: 0xa8, hopLimit: 7 }));
      const data = pattern(501);
      left.mr.bytes.set(data);
      right.qp.postRecv({ wrId: 7, sges: [{ mr: right.mr, length: 1000 }] });
      left.qp.postSend({
        wrId: 1,
        opcode: WrOpcode.SendWithImm,
        sges: [{ mr: left.mr, length: data.length }],
        immData: 0xdead_beef,
        solicited: true,
        ah,
        remoteQpn: right.qp.qpn,
        remoteQkey: QKEY,
      });
      expect(await nextOf(both, left)).toMatchObject({ wrId: 1, status: WcStatus.Success, grh: false, srcQpn: 0 });
      const wc = await nextOf(both, right);
      expect(wc).toMatchObject({ wrId: 7, byteLen: GRH + 501, immData: 0xdead_beef, grh: true, srcQpn: left.qp.qpn });
      expect(wc.solicited).toBe(true);
      expect(right.mr.bytes.subarray(GRH, GRH + 501)).toEqual(data);
      expect(right.mr.bytes[GRH + 501]).toBe(0xa5);
      const { view } = right.mr;
      if (version === 6) {
        const grh = readGrh(view, 0);
        expect([`${grh.sourceGid}`, `${grh.destinationGid}`]).toEqual(['fd00::1', 'fd00::2']);
        expect([grh.version, grh.trafficClass, grh.hopLimit, grh.nextHeader]).toEqual([6, 0xa8, 7, 17]);
      } else {
        const header = readIpv4(view, GRH_IPV4_AT);
        expect([`${header.source}`, `${header.destination}`]).toEqual(['10.0.0.1', '10.0.0.2']);
        expect([header.trafficClass, header.ttl, header.protocol]).toEqual([0xa8, 7, 17]);
        expect(right.mr.bytes.subarray(0, GRH_IPV4_AT)).toEqual(new Uint8Array(GRH_IPV4_AT));
      }
    },
  );

  it.each(ADDRESSES)('over IPv%i is answered from its own first 40 bytes', async (version, address) => {
    const both = makeBoth();
    const { world, left, right } = both;
    const ah = await world.run(
      left.pd.createAh({ destination: IpAddress.parse(address), hopLimit: 9, trafficClass: 4 }),
    );
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    left.qp.postRecv({ wrId: 2, sges: [{ mr: left.mr }] });
    left.qp.postSend({ wrId: 3, opcode: WrOpcode.Send, inline: pattern(3), ah, remoteQpn: right.qp.qpn });
    const wc = await nextOf(both, right);
    const back = await world.run(right.pd.createAhFromWc(wc, right.mr.bytes.subarray(0, GRH)));
    expect(`${back.av.destination} ${back.av.source} ${back.av.hopLimit} ${back.av.trafficClass}`).toBe(
      `${version === 6 ? 'fd00::1' : '10.0.0.1'} ${address} 9 4`,
    );
    right.qp.postSend({ wrId: 4, opcode: WrOpcode.Send, inline: pattern(5), ah: back, remoteQpn: wc.srcQpn });
    expect(await nextOf(both, left)).toMatchObject({ wrId: 3 });
    expect(await nextOf(both, left)).toMatchObject({ wrId: 2, byteLen: GRH + 5, srcQpn: right.qp.qpn });
    expect(left.mr.bytes.subarray(GRH, GRH + 5)).toEqual(pattern(5));
  });

  it('LEN-18 over the MTU vanishes with a counter and completes; one of exactly the MTU arrives', async () => {
    const both = makeBoth({ mtu: 1104 });
    const { world, left, right, a } = both;
    expect(a.activeMtu).toBe(1024);
    const ah = await world.run(left.pd.createAh({ destination: IpAddress.parse('10.0.0.2') }));
    const to = { opcode: WrOpcode.Send, ah, remoteQpn: right.qp.qpn } as const;
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    left.qp.postSend({ ...to, wrId: 1, sges: [{ mr: left.mr, length: 1025 }] });
    left.qp.postSend({ ...to, wrId: 2, sges: [{ mr: left.mr, length: 1024 }] });
    expect([await nextOf(both, left), await nextOf(both, left)].map((wc) => wc.status)).toEqual([0, 0]);
    expect(await nextOf(both, right)).toMatchObject({ wrId: 1, byteLen: GRH + 1024 });
    expect(a.portCounters.oversizedSend).toBe(1);
  });

  it('goes to another queue pair and another host from one queue pair, each by its own handle', async () => {
    const both = makeBoth();
    const { world, left, right, b } = both;
    const second = makeUd(b);
    const ahs = await world.run(
      Promise.all(ADDRESSES.map(([, address]) => left.pd.createAh({ destination: IpAddress.parse(address) }))),
    );
    for (const side of [right, second]) side.qp.postRecv({ wrId: side.qp.qpn, sges: [{ mr: side.mr }] });
    [right, second].forEach((side, i) => {
      const ah = ahs[i];
      if (ah !== undefined)
        left.qp.postSend({ wrId: i, opcode: WrOpcode.Send, inline: pattern(4, i), ah, remoteQpn: side.qp.qpn });
    });
    expect(await nextOf(both, right)).toMatchObject({ wrId: right.qp.qpn });
    expect(await nextOf(both, second)).toMatchObject({ wrId: second.qp.qpn });
    expect(second.mr.bytes.subarray(GRH, GRH + 4)).toEqual(pattern(4, 1));
  });
});

describe('an address handle', () => {
  it('belongs to its protection domain, keeps it from being freed, and is refused once destroyed', async () => {
    const { world, left, right } = makeBoth();
    const destination = IpAddress.parse('10.0.0.2');
    const ah = await world.run(left.pd.createAh({ destination }));
    const to = { wrId: 1, opcode: WrOpcode.Send, remoteQpn: right.qp.qpn } as const;
    expect(await refusal(() => right.qp.postSend({ ...to, ah }))).toBe('ERR_ROCE_ACCESS EPERM');
    left.pd.deregMr(left.mr);
    left.qp.destroy();
    expect(await refusal(() => left.pd.dealloc())).toBe('ERR_ROCE_IN_USE EBUSY');
    ah.destroy();
    ah.destroy();
    expect(await refusal(() => left.pd.dealloc())).toBe('nothing');
    const gone = await world.run(right.pd.createAh({ destination: IpAddress.parse('10.0.0.1') }));
    gone.destroy();
    expect(await refusal(() => right.qp.postSend({ ...to, ah: gone }))).toBe('ERR_ROCE_ARGUMENT EINVAL');
    expect(right.qp.core.sendsOutstanding).toBe(0);
  });

  it('is not made for a host that does not answer, a foreign source, or bytes that are no header', async () => {
    const { world, left } = makeBoth();
    const destination = IpAddress.parse('10.0.0.9');
    expect(await world.run(refusal(left.pd.createAh({ destination })))).toBe('ERR_ROCE_ADDRESS EHOSTUNREACH');
    const wrong = { destination: IpAddress.parse('10.0.0.2'), source: IpAddress.parse('10.0.0.3') };
    expect(await world.run(refusal(left.pd.createAh(wrong)))).toBe('ERR_ROCE_ADDRESS EADDRNOTAVAIL');
    const bytes = new Uint8Array(GRH);
    for (const [wc, grh] of [
      [{ grh: true }, bytes],
      [{ grh: true }, bytes.subarray(1)],
      [{ grh: false }, bytes],
      [{ grh: true }, Uint8Array.from(bytes, (_, i) => (i === GRH_IPV4_AT ? 0x45 : 1))],
    ] as const) {
      expect(await world.run(refusal(left.pd.createAhFromWc(wc, grh)))).toBe('ERR_ROCE_ARGUMENT EINVAL');
    }
  });

  it('of a host that announces another MAC address has it in its headers, until it is destroyed', async () => {
    const { world, left, a } = makeBoth({ strangers: { confirmMoves: false } });
    const destination = IpAddress.parse('10.0.0.2');
    const ah = await world.run(left.pd.createAh({ destination }));
    const macs = ['02:00:00:00:00:98', '02:00:00:00:00:99'].map((text) => {
      const frame = solicitationFrame({ mac: parseMac(text), address: destination }, destination);
      const batch = new FrameWriter(1, 64);
      batch.appendRaw(frame, 0, frame.length);
      a.receive(batch);
      const mac = formatMac(ah.template.bytes);
      ah.destroy();
      return mac;
    });
    expect(macs).toEqual(['02:00:00:00:00:98', '02:00:00:00:00:98']);
    expect(ah.nextHop).toBeUndefined();
  });

  it('whose next hop was not heard of for long is asked for when a datagram goes there', async () => {
    const { world, left, right, a } = makeBoth();
    const ah = await world.run(left.pd.createAh({ destination: IpAddress.parse('10.0.0.2') }));
    const questions = (): number => a.paths.neighbours?.counters.questions ?? 0;
    const send = () => {
      left.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, ah, remoteQpn: right.qp.qpn });
      world.runFor(1e9);
      return questions();
    };
    const before = questions();
    expect(send()).toBe(before);
    world.runFor(60e9);
    expect(send()).toBe(before + 1);
  });
});
