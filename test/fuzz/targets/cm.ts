/**
 * Connection management: the codec of every message, and a device with listeners, a connect and a lookup under way,
 * and an application that accepts, refuses or lets wait. An input is a list of MADs from the peer. Flags: 1: the MAD
 * header is that of connection management; 2: the remote communication id is one that the device has sent; 4: the
 * service is one that is listened for; 8: the transaction id is the device's last; 16: 1 s passes first; 32: time passes
 * until the next deadline; 64: its sender is another queue pair than 1.
 */
import { dethSourceQpn, type Frame, type FrameStatus, FrameStatus as Status } from '../../../packets/index.ts';
import { buildFrame, datagram } from '../../../packets/kit/index.ts';
import {
  CmAttribute,
  CmParseStatus,
  cmKind,
  MAD_BYTES,
  parseCmMad,
  RdmaPortSpace,
  rdmaServiceId,
  readCmMessage,
  writeCmMad,
} from '../../../packets/management.ts';
import { Access, ConnectionRejected, Medium, QpState, QpType, RoceError } from '../../../src/browser.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { ConnectionManager } from '../../../transport/cm/index.ts';
import { packRecords, unpackRecords } from '../engine/records.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { LoneDevice, OUR_MAC, OURS, THEIR_MAC, THEIRS } from './support/lone-device.ts';

const Flag = { Header: 1, Id: 2, Service: 4, Transaction: 8, Later: 16, Deadline: 32, OtherQp: 64 } as const;
const PORT = 7471;
const GSI_QKEY = 0x80_01_00_00;
const SERVICES = [
  rdmaServiceId(RdmaPortSpace.Tcp, PORT),
  rdmaServiceId(RdmaPortSpace.Udp, PORT),
  rdmaServiceId(RdmaPortSpace.Tcp, PORT + 1),
];

class Talk {
  readonly lone = new LoneDevice((bytes, view, frame, status) => this.#sees(bytes, view, frame, status));
  readonly ids: number[] = [];
  transaction = 0n;
  readonly ends = new Set<string>();

  #sees(_bytes: Uint8Array, view: DataView, frame: Frame, status: FrameStatus): void {
    if (status !== Status.Ok || frame.destQpn !== 1 || frame.payloadLength !== MAD_BYTES) return;
    const mad = parseCmMad(view, frame.payloadOffset, MAD_BYTES);
    promise(typeof mad !== 'number', 'what queue pair 1 sends is a message of connection management');
    promise(dethSourceQpn(view, frame.bthOffset + 12) === 1, 'queue pair 1 is its sender');
    this.transaction = mad.header.transactionId;
    const id = view.getUint32(frame.payloadOffset + 24);
    if (this.ids[this.ids.length - 1] !== id) this.ids.push(id);
    this.ends.add(`sent ${mad.message.kind}`);
  }

  begin(): void {
    const { device } = this.lone;
    const pd = device.allocPd();
    const cq = device.createCq(64);
    const make = () => {
      const qp = pd.createQp({ sendCq: cq, recvCq: cq });
      qp.modifyNow({ state: QpState.Init, access: Access.RemoteWrite });
      return qp;
    };
    const note = (what: string) => (error: unknown) => {
      if (!(error instanceof RoceError)) throw error;
      this.ends.add(`${what}: ${error instanceof ConnectionRejected ? 'rejected' : error.code}`);
    };
    const ud = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
    device.cm.listenUd(PORT, { qp: ud });
    device.cm.connect({ address: THEIRS, port: 9, qp: make() }).then(() => this.ends.add('connected'), note('connect'));
    const serve = async (): Promise<void> => {
      let count = 0;
      for await (const request of device.cm.listen(PORT, { backlog: 8 })) {
        count += 1;
        if (count % 3 === 0) request.reject();
        else if (count % 3 === 1) {
          request
            .accept({ qp: make() })
            .then(
              (connection) =>
                connection.closed.then((end) => this.ends.add(`closed: ${JSON.stringify(end)?.slice(0, 30)}`)),
              note('accept'),
            );
        }
      }
    };
    void serve();
    device.cm.listen(PORT + 1, { whenFull: 'reject', backlog: 1 });
    this.lone.transmit();
  }
}

async function run(input: Uint8Array): Promise<string> {
  const talk = new Talk();
  const { lone } = talk;
  talk.begin();
  await turns();
  for (const { flags, bytes } of unpackRecords(input).slice(0, 12)) {
    if ((flags & Flag.Later) !== 0) lone.advance(1e9);
    if ((flags & Flag.Deadline) !== 0) lone.advance(1e13);
    adjust(talk, bytes, flags);
    checkCodec(bytes);
    const packet = datagram({
      psn: 0,
      payload: bytes.subarray(0, 1000),
      qkey: GSI_QKEY,
      srcQpn: flags & Flag.OtherQp ? 77 : 1,
    });
    lone.receive(buildFrame(packet, ROUTE, 1, 0));
    lone.transmit();
    await turns();
    lone.transmit();
  }
  for (let turn = 0; turn < 12; turn++) {
    lone.advance(1e12);
    lone.transmit();
    await turns();
  }
  return [...talk.ends].sort().join(', ').slice(0, 120);
}

function adjust(talk: Talk, bytes: Uint8Array, flags: number): void {
  if (bytes.length < MAD_BYTES) return;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if ((flags & Flag.Header) !== 0) {
    view.setUint32(0, 0x01_07_02_03);
    view.setUint16(16, CmAttribute.REQ + (view.getUint16(16) % 11));
  }
  const kind = cmKind(view.getUint16(16));
  if ((flags & Flag.Transaction) !== 0) view.setBigUint64(8, talk.transaction);
  if ((flags & Flag.Id) !== 0 && kind !== 'REQ') view.setUint32(28, talk.ids.at(-1 - (view.getUint8(28) & 1)) ?? 0);
  const at = kind === 'REQ' ? 32 : 24 + 8;
  if ((flags & Flag.Service) !== 0 && (kind === 'REQ' || kind === 'SIDR_REQ'))
    view.setBigUint64(at, SERVICES[view.getUint8(at + 7) % SERVICES.length] ?? 0n);
}

/** What was read, written and read again is the same; writing stays inside the MAD. */
function checkCodec(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const mad = parseCmMad(view, 0, bytes.length);
  if (typeof mad === 'number') {
    promise(mad !== (CmParseStatus.Ok as number), 'a status of a refusal is not Ok');
    return;
  }
  const { message, header } = mad;
  const again = new Uint8Array(MAD_BYTES + 8).fill(0xee);
  writeCmMad(new DataView(again.buffer), 4, header.transactionId, message, header.attributeModifier);
  promise(
    [0, 1, 2, 3, 260, 261, 262, 263].every((at) => again[at] === 0xee),
    'a MAD is written inside its 256 bytes',
  );
  promise(
    text(readCmMessage(new DataView(again.buffer), 4, message.kind)) === text(message),
    'a message is read as it was written',
  );
}

function text(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? `${member}n` : member));
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await undefined;
}

const ROUTE = {
  ...{ medium: Medium.Ethernet, sourceMac: THEIR_MAC, destMac: OUR_MAC, source: THEIRS, destination: OURS },
  ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 },
};

/** A real REQ, and every kind of message with bytes that count up. */
function seeds(): Uint8Array[] {
  const peer = new ConnectionManager({ random: new Prng(3), caGuid: 3n });
  peer.connect(0, {
    ...{ serviceId: SERVICES[0] ?? 0n, local: THEIRS, remote: OURS, localPort: 1, qpn: 77, startingPsn: 5, mtu: 3 },
    ...{ initiatorDepth: 1, responderResources: 1, retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
  });
  const request = peer.pollTransmit(0)?.bytes ?? new Uint8Array(MAD_BYTES);
  const all = Flag.Header | Flag.Id | Flag.Service | Flag.Transaction;
  const made = Object.values(CmAttribute).map((attribute, index) => {
    const bytes = request.map((byte, at) => (at > 40 ? byte ^ (index === 0 ? 0 : at) : byte));
    // The flag adds the remainder to the first attribute.
    new DataView(bytes.buffer).setUint16(16, attribute - CmAttribute.REQ);
    return { flags: all, bytes };
  });
  const [req, ...others] = made;
  const first = { flags: Flag.Service, bytes: request };
  return [
    ...made.map((one) => packRecords([one])),
    ...others.map((one) => packRecords([first, one])),
    packRecords([first, first, ...(req === undefined ? [] : [req])]),
    packRecords([...others]),
    packRecords([
      { flags: Flag.Deadline, bytes: request },
      { flags: Flag.Deadline | Flag.Later, bytes: new Uint8Array(10) },
    ]),
  ];
}

export const target: FuzzTarget = { name: 'cm', records: true, maxBytes: 3200, seeds, run };
