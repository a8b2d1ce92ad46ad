/**
 * A live device with queue pairs of every service, work outstanding, memory with known keys. An input is a list of
 * frames from its peer. Flags of a frame: 1: lengths, checksums and ICRC are made right; 2: it is for our queue pair of
 * that service; 4: its PSN is near the expected one; 8: key and address of its RETH or AtomicETH are those of a region;
 * 16: 5 ms pass first; 32: time passes until the next deadline. Nothing is ever thrown nor caught inside, memory without
 * access stays as it is, and what is sent is well-formed.
 */
import { ATOMIC_ETH_AT, BTH_BYTES, OPCODES, PSN_MASK, RETH_AT, Service } from '../../../packets/index.ts';
import {
  ack,
  atomicAck,
  buildFrame,
  cnp,
  compareSwap,
  datagram,
  fetchAdd,
  flush,
  nak,
  type Packet,
  readOnly,
  readRequest,
  sendOnly,
  sendOnlyImm,
  sendOnlyInv,
  sendPackets,
  uc,
  writeOnly,
  writeOnlyImm,
  writePackets,
  xrc,
} from '../../../packets/kit/index.ts';
import { ROCE_UDP_PORT } from '../../../packets/network.ts';
import { Access, Medium, type Qp, QpState, QpType, WorkCompletion, WrOpcode } from '../../../src/browser.ts';
import { everyFrame } from '../../tools/verify/every-frame.ts';
import { packRecords, unpackRecords } from '../engine/records.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { fixFrame } from './support/fix-up.ts';
import { GROUP_4, GROUP_6, groupMessages } from './support/group-messages.ts';
import { LoneDevice, OUR_MAC, OURS, THEIR_MAC, THEIRS } from './support/lone-device.ts';

const Flag = { Fix: 1, Qp: 2, Psn: 4, Key: 8, Later: 16, Deadline: 32 } as const;
const FIRST_PSN = 0xff_ff_f0;
const THEIR_QPN = 77;
const QKEY = 0x1111;
const REGION_BYTES = 4096;
const GUARD = 0xa5;

/** One of each service, by the bits of the opcode that name it. */
function open() {
  const lone = new LoneDevice();
  const { device } = lone;
  const pd = device.allocPd();
  const cq = device.createCq(512);
  const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind;
  const mr = pd.regMr(REGION_BYTES, { access: access | Access.FlushGlobal });
  const guarded = pd.regMr(256, { access: Access.LocalWrite });
  guarded.bytes.fill(GUARD);
  const cqs = { sendCq: cq, recvCq: cq };
  const up = (qp: Qp): Qp => {
    const rc = qp.type !== QpType.Uc;
    const at = { av: { destination: THEIRS }, destQpn: THEIR_QPN, rqPsn: FIRST_PSN, mtu: 1024 };
    const retries = { timeout: 10, retryCnt: 3, rnrRetry: 3, maxRdAtomic: 4 };
    qp.modifyNow({ state: QpState.Init, access });
    qp.modifyNow({ state: QpState.Rtr, ...at, ...(rc ? { maxDestRdAtomic: 4, minRnrTimer: 1 } : {}) });
    qp.modifyNow({
      state: QpState.Rts,
      sqPsn: FIRST_PSN,
      ...(rc && qp.type !== QpType.XrcRecv ? retries : rc ? { timeout: 10 } : {}),
    });
    return qp;
  };
  const rc = up(pd.createQp(cqs));
  const ucQp = up(pd.createQp({ ...cqs, type: QpType.Uc }));
  const ud = pd.createQp({ ...cqs, type: QpType.Ud });
  ud.modifyNow({ state: QpState.Init, qkey: QKEY });
  ud.modifyNow({ state: QpState.Rtr });
  ud.modifyNow({ state: QpState.Rts, sqPsn: 0 });
  const xrcd = device.openXrcd();
  const target = up(xrcd.createQp());
  const srq = pd.createSrq({ maxWr: 16, xrcd, cq });
  for (let wrId = 0; wrId < 8; wrId++) {
    const wr = { wrId, sges: [{ mr, offset: wrId * 256, length: 256 }] };
    for (const queue of [rc, ucQp, ud, srq]) queue.postRecv(wr);
  }
  const sges = [{ mr, length: 1500 }];
  const remote = { remoteAddr: 0x1000n, rkey: 7 };
  rc.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges, ...remote });
  rc.postSend({ wrId: 2, opcode: WrOpcode.RdmaRead, sges, ...remote });
  rc.postSend({ wrId: 3, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, length: 8 }], ...remote, compareAdd: 1n });
  rc.postSend({ wrId: 4, opcode: WrOpcode.Send, inline: new Uint8Array(10) });
  for (const group of [GROUP_4, GROUP_6]) void ud.attachMcast(group);
  device.tcp?.listen(80);
  device.cm.listen(7471);
  lone.transmit();
  return { lone, rc, uc: ucQp, ud, target, srq, mr, guarded, cq };
}

type Opened = ReturnType<typeof open>;

function run(input: Uint8Array): string {
  const opened = open();
  const { lone, guarded, rc, uc: ucQp, target, cq } = opened;
  let index = 0;
  for (const { flags, bytes } of unpackRecords(input).slice(0, 32)) {
    if ((flags & Flag.Later) !== 0) lone.advance(5e6);
    if ((flags & Flag.Deadline) !== 0) lone.advance(Infinity === lone.device.nextDeadline() ? 1e6 : 1e12);
    adjust(opened, bytes, flags, index++);
    lone.receive(bytes);
    lone.transmit();
    promise(
      guarded.bytes.every((byte) => byte === GUARD),
      'memory without remote access stays as it is',
    );
    promise(lone.device.qpCount === 4, 'queue pairs stay');
  }
  for (let turn = 0; turn < 4; turn++) {
    lone.advance(1e9);
    lone.transmit();
  }
  const wc = new WorkCompletion();
  let failed = 0;
  while (cq.poll(wc)) if (wc.status !== 0) failed += 1;
  return `rc ${rc.stateName}, uc ${ucQp.stateName}, xrc ${target.stateName}, ${failed > 0 ? 'failed work' : 'no failed work'}`;
}

/** Makes a frame one that reaches what is behind the checks, as far as its flags say. */
function adjust({ rc, uc: ucQp, ud, target, srq, mr }: Opened, bytes: Uint8Array, flags: number, index: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bth = bthOf(view);
  if (bth >= 0) {
    const opcode = view.getUint8(bth);
    if ((flags & Flag.Qp) !== 0) {
      const qps = new Map<number, Qp>([
        [Service.Rc, rc],
        [Service.Uc, ucQp],
        [Service.Ud, ud],
        [Service.Xrc, target],
      ]);
      const qp = qps.get(opcode & 0xe0) ?? rc;
      view.setUint32(bth + 4, (view.getUint32(bth + 4) & 0xff_00_00_00) | qp.qpn);
      if ((opcode & 0xe0) === Service.Xrc && bytes.length >= bth + 16) view.setUint32(bth + BTH_BYTES, srq.srqn);
    }
    const psn = view.getUint32(bth + 8);
    if ((flags & Flag.Psn) !== 0) {
      const near = (FIRST_PSN + index + ((psn & 7) < 5 ? 0 : (psn & 15) - 7)) & PSN_MASK;
      view.setUint32(bth + 8, ((psn & 0xff_00_00_00) | near) >>> 0);
    }
    const reth = RETH_AT[opcode] ?? -1;
    const atomic = ATOMIC_ETH_AT[opcode] ?? -1;
    const at = bth + Math.max(reth, atomic);
    if ((flags & Flag.Key) !== 0 && at > bth && bytes.length >= at + 16) {
      view.setBigUint64(at, mr.iova + (view.getBigUint64(at) & 0x7f8n));
      view.setUint32(at + 8, mr.rkey);
      if (reth > 0) view.setUint32(at + 12, view.getUint32(at + 12) & 0x87_ff);
    }
  }
  if ((flags & Flag.Fix) !== 0) fixFrame(bytes, true);
}

/** Where the BTH begins in an untagged frame to the port of RoCE, if it is there. */
function bthOf(view: DataView): number {
  if (view.byteLength < 14 + 20 + 8 + BTH_BYTES) return -1;
  const type = view.getUint16(12);
  const udp = type === 0x0800 ? 34 : type === 0x86dd ? 54 : -1;
  if (udp < 0 || view.byteLength < udp + 8 + BTH_BYTES || view.getUint16(udp + 2) !== ROCE_UDP_PORT) return -1;
  return udp + 8;
}

const route = {
  ...{ medium: Medium.Ethernet, sourceMac: THEIR_MAC, destMac: OUR_MAC, source: THEIRS, destination: OURS },
  ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 },
};

function conversations(): Packet[][] {
  const data = new Uint8Array(2000);
  const [va, rkey] = [0x10n, 1];
  const reth = { va, rkey, length: 8 };
  const payload = new Uint8Array(8);
  const requests = [
    ...[
      sendOnly({ psn: 0, payload }),
      sendOnlyImm({ psn: 0, payload, imm: 1 }),
      sendOnlyInv({ psn: 0, payload, inv: 1 }),
    ],
    ...[writeOnly({ psn: 0, payload, reth }), writeOnlyImm({ psn: 0, payload, reth, imm: 2 })],
    ...[
      readRequest({ psn: 0, reth: { ...reth, length: 3000 } }),
      flush({ psn: 0, reth, placement: 1, selectivity: 0 }),
    ],
    ...[fetchAdd({ psn: 0, va, rkey, add: 1n }), compareSwap({ psn: 0, va, rkey, compare: 0n, swap: 1n })],
  ].map((packet) => ({ ...packet, ackReq: true }));
  const responses = [
    ...[
      ack({ psn: 0, msn: 1 }),
      nak(0x60, { psn: 0, msn: 0 }),
      nak(0x21, { psn: 0, msn: 0 }),
      nak(0x62, { psn: 1, msn: 1 }),
    ],
    ...[readOnly({ psn: 2, msn: 2, payload: data.subarray(0, 1024) }), atomicAck({ psn: 4, msn: 3, original: 5n })],
  ];
  return [
    ...requests.map((packet) => [packet]),
    ...requests.slice(0, 5).map((packet) => [uc(packet)]),
    ...requests.map((packet) => [xrc(packet, 1)]),
    ...responses.map((packet) => [packet]),
    sendPackets({ psn: 0, data }),
    writePackets({ psn: 0, data, va, rkey }),
    [datagram({ psn: 0, payload, qkey: QKEY, srcQpn: 5 }), datagram({ psn: 0, payload, qkey: QKEY, srcQpn: 5 })],
    [cnp(), cnp()],
    [...requests, ...responses],
  ];
}

export const target: FuzzTarget = {
  name: 'device',
  records: true,
  maxBytes: 12_000,
  words: OPCODES.filter(({ known }) => known).map(({ code }) => Uint8Array.of(code)),
  seeds: () => {
    const flags = Flag.Fix | Flag.Qp | Flag.Psn | Flag.Key;
    const talks = conversations().map((packets) =>
      packRecords(packets.map((packet) => ({ flags, bytes: buildFrame(packet, route, 1, FIRST_PSN) }))),
    );
    const to = (bytes: Uint8Array): Uint8Array => Uint8Array.from([...OUR_MAC, ...bytes.subarray(6)]);
    const others = everyFrame(30)
      .filter(
        ({ medium, name }, index) =>
          medium === Medium.Ethernet && (index % 9 === 0 || !/Send|Write|Read|Rdma/i.test(name)),
      )
      .slice(-40)
      .map(({ bytes }) => packRecords([{ flags: Flag.Fix, bytes: to(bytes) }]));
    const groups = groupMessages().map((bytes) => ({ flags: Flag.Fix | Flag.Deadline, bytes }));
    return [
      ...talks,
      ...others,
      ...groups.map((one) => packRecords([one])),
      packRecords(groups),
      packRecords([{ flags: Flag.Deadline, bytes: new Uint8Array(0) }]),
    ];
  },
  run,
};
