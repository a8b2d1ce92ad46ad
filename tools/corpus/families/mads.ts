/** Every message of connection management with a value of its own in each field, and MADs that are none. */
import { IpAddress, Op } from 'rocev2/packets';
import { pattern } from 'rocev2/packets/kit';
import { type CmMessage, type CmPath, GSI_QKEY, writeCmMad, writeIpCmHeader } from 'rocev2/packets/management';
import { type CorpusCapture, frame, route, type Vector, vectorFile } from '../capture.ts';

/** The one file of them. */
export function madCaptures(): readonly CorpusCapture[] {
  const messages = MESSAGES.map((message, i): Vector => ({ about: message.kind, bytes: mad(message, i) }));
  const change = (about: string, offset: number, value: number): Vector => ({
    about,
    bytes: mad({ kind: 'RTU', body: { ...IDS, privateData: NONE } }, 40, (view) => view.setUint8(offset, value)),
  });
  const others = [
    change('base version 2', 0, 2),
    change('management class 0x04, performance', 1, 4),
    change('class version 1', 2, 1),
    change('method 0x81, GetResp', 3, 0x81),
    change('attribute 0x001b, which is no message', 17, 0x1b),
  ];
  const about = 'Datagrams to queue pair 1: every message of connection management, and MADs that are none.';
  return [vectorFile('mads/cm.pcapng', about, [...messages, ...others])];
}

function mad(message: CmMessage, i: number, change?: (view: DataView) => void): Uint8Array {
  const payload = new Uint8Array(256);
  const view = new DataView(payload.buffer);
  writeCmMad(view, 0, 0x1122_3344_5566_7700n + BigInt(i), message);
  change?.(view);
  const datagram = { opcode: Op.UdSendOnly, psn: i, qkey: GSI_QKEY, srcQpn: 1, destQpn: 1, payload };
  return frame(datagram, route(4), 0x200 + i);
}

const NONE = new Uint8Array(0);
const IDS = { localCommId: 0xa1b2_c3d4, remoteCommId: 0x1122_3344 };

function path(n: number): CmPath {
  return {
    ...{
      localLid: 0xff_ff,
      remoteLid: 0xff_f0 + n,
      flowLabel: 0xa_bcd0 + n,
      packetRate: 0x15 + n,
      trafficClass: 0x60 + n,
    },
    localGid: IpAddress.parse(n === 1 ? '192.0.2.1' : '2001:db8::1'),
    remoteGid: IpAddress.parse(n === 1 ? '192.0.2.2' : '2001:db8::2'),
    ...{ hopLimit: 0x40 + n, serviceLevel: 0x08 + n, subnetLocal: n === 1 ? 1 : 0, localAckTimeout: 0x10 + n },
  };
}

/** The addresses of RDMA CM, and some bytes of the application. */
function privateData(version: 4 | 6): Uint8Array {
  const bytes = new Uint8Array(48);
  writeIpCmHeader(new DataView(bytes.buffer), 0, {
    sourcePort: 0xe1_23,
    source: route(version).source,
    destination: route(version).destination,
  });
  bytes.set(pattern(12), 36);
  return bytes;
}

const MESSAGES: readonly CmMessage[] = [
  {
    kind: 'REQ',
    body: {
      ...{
        localCommId: IDS.localCommId,
        vendorId: 0x01_0203,
        serviceId: 0x0106_1d2fn,
        localCaGuid: 0x0200_00ff_fe00_0001n,
      },
      ...{
        localQkey: 0x5566_7788,
        localQpn: 0x0a_0b0c,
        responderResources: 16,
        localEecn: 0x11_1213,
        initiatorDepth: 15,
      },
      ...{ remoteEecn: 0x14_1516, remoteCmResponseTimeout: 20, transportServiceType: 0, endToEndFlowControl: 1 },
      ...{
        startingPsn: 0xfe_dcba,
        localCmResponseTimeout: 19,
        retryCount: 6,
        partitionKey: 0x80_01,
        pathMtu: 3,
        rdcExists: 0,
      },
      ...{ rnrRetryCount: 5, maxCmRetries: 14, srq: 1, extendedTransportType: 0, sapSupported: 1 },
      ...{ primaryPath: path(1), alternatePath: path(2), privateData: privateData(4) },
    },
  },
  { kind: 'MRA', body: { ...IDS, messageMraed: 1, serviceTimeout: 18, privateData: pattern(3) } },
  {
    kind: 'REJ',
    body: { ...IDS, messageRejected: 1, infoLength: 2, reason: 28, info: pattern(2), privateData: pattern(5) },
  },
  {
    kind: 'REP',
    body: {
      ...IDS,
      ...{
        localQkey: 0x0102_0304,
        localQpn: 0x0d_0e0f,
        localEecn: 0x22_2324,
        startingPsn: 0x12_3456,
        vendorId: 0x04_0506,
      },
      ...{
        responderResources: 14,
        initiatorDepth: 13,
        targetAckDelay: 17,
        failoverAccepted: 1,
        endToEndFlowControl: 1,
      },
      ...{ rnrRetryCount: 4, srq: 1, localCaGuid: 0x0200_00ff_fe00_0002n, privateData: pattern(9) },
    },
  },
  { kind: 'RTU', body: { ...IDS, privateData: pattern(4) } },
  { kind: 'DREQ', body: { ...IDS, remoteQpn: 0x33_3435, privateData: pattern(6) } },
  { kind: 'DREP', body: { ...IDS, privateData: pattern(7) } },
  {
    kind: 'SIDR_REQ',
    body: { requestId: 0x9988_7766, partitionKey: 0xff_ff, serviceId: 0x0111_1d2fn, privateData: privateData(6) },
  },
  {
    kind: 'SIDR_REP',
    body: {
      ...{ requestId: 0x9988_7766, status: 4, infoLength: 3, vendorId: 0x07_0809, qpn: 0x44_4546 },
      ...{ serviceId: 0x0111_1d2fn, qkey: 0x0123_4567, info: pattern(3), privateData: pattern(8) },
    },
  },
  {
    kind: 'LAP',
    body: {
      ...IDS,
      remoteQpn: 0x55_5657,
      remoteCmResponseTimeout: 21,
      alternatePath: path(2),
      privateData: pattern(2),
    },
  },
  { kind: 'APR', body: { ...IDS, infoLength: 1, status: 5, info: pattern(1), privateData: pattern(11) } },
];
