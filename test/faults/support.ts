/** RoCE frames between two hosts a (10.0.0.1, fd00::1) and b (…2), and what an engine makes of them. */
import { IpAddress } from '../../packets/address.ts';
import { BTH_BYTES, writeBth } from '../../packets/bth.ts';
import { type CmMessage, type CmRep, type CmReq, NO_PATH, writeCmMad } from '../../packets/cm/index.ts';
import { writeDeth } from '../../packets/deth.ts';
import { Frame, type FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { GSI_QKEY, GSI_QPN, MAD_BYTES } from '../../packets/mad.ts';
import { Op, opcodeInfo } from '../../packets/opcode.ts';

export const A_TO_B = 0;
export const B_TO_A = 1;

export interface PacketSpec {
  readonly direction: number;
  readonly opcode: number;
  readonly qpn: number;
  readonly psn: number;
  readonly payloadBytes?: number;
  readonly ipVersion?: 4 | 6;
  readonly trafficClass?: number;
  readonly vlan?: boolean;
  /** Writes behind the BTH. */
  readonly write?: (view: DataView, at: number) => void;
}

/** A whole frame with a right ICRC. */
export function packet(spec: PacketSpec): Uint8Array {
  const { direction, opcode, qpn, psn, payloadBytes = 0, ipVersion = 4, trafficClass = 0 } = spec;
  const address = (host: number) => IpAddress.parse(ipVersion === 4 ? `10.0.0.${host}` : `fd00::${host}`);
  const template = new HeaderTemplate({
    medium: Medium.Ethernet,
    sourceMac: Uint8Array.of(2, 0, 0, 0, 0, direction + 1),
    destMac: Uint8Array.of(2, 0, 0, 0, 0, 2 - direction),
    source: address(direction + 1),
    destination: address(2 - direction),
    trafficClass,
    hopLimit: 64,
    flowLabel: 0,
    sourcePort: 50_000,
  });
  const writer = new FrameWriter(1, 8192);
  const bth = writer.begin(template);
  writeBth(writer.view, bth, opcode, 0, 0, 0, 0xffff, qpn, 0, psn);
  spec.write?.(writer.view, bth + BTH_BYTES);
  writer.end(template, bth + BTH_BYTES + opcodeInfo(opcode).headerBytes + payloadBytes);
  return writer.bytes.slice(0, writer.lengths[0]);
}

/** An ACK or NAK. */
export function acknowledge(direction: number, qpn: number, psn: number, syndrome = 0x1f): Uint8Array {
  const write = (view: DataView, at: number) => view.setUint32(at, syndrome << 24);
  return packet({ direction, opcode: Op.Acknowledge, qpn, psn, write });
}

/** A connection management datagram. */
export function mad(direction: number, message: CmMessage, ipVersion: 4 | 6 = 4): Uint8Array {
  const write = (view: DataView, at: number) => {
    writeDeth(view, at, GSI_QKEY, GSI_QPN);
    writeCmMad(view, at + 8, 7n, message);
  };
  const opcode = Op.UdSendOnly;
  return packet({ direction, opcode, qpn: GSI_QPN, psn: 0, payloadBytes: MAD_BYTES, ipVersion, write });
}

export function req(fields: Pick<CmReq, 'localCommId' | 'localQpn' | 'startingPsn'>): CmMessage {
  const body: CmReq = {
    vendorId: 0,
    serviceId: 0n,
    localCaGuid: 0n,
    localQkey: 0,
    responderResources: 1,
    localEecn: 0,
    initiatorDepth: 1,
    remoteEecn: 0,
    remoteCmResponseTimeout: 20,
    transportServiceType: 0,
    endToEndFlowControl: 0,
    localCmResponseTimeout: 20,
    retryCount: 7,
    partitionKey: 0xffff,
    pathMtu: 3,
    rdcExists: 0,
    rnrRetryCount: 7,
    maxCmRetries: 15,
    srq: 0,
    extendedTransportType: 0,
    primaryPath: NO_PATH,
    alternatePath: NO_PATH,
    sapSupported: 0,
    privateData: new Uint8Array(0),
    ...fields,
  };
  return { kind: 'REQ', body };
}

export function rep(fields: Pick<CmRep, 'localCommId' | 'remoteCommId' | 'localQpn' | 'startingPsn'>): CmMessage {
  const body: CmRep = {
    localQkey: 0,
    localEecn: 0,
    vendorId: 0,
    responderResources: 1,
    initiatorDepth: 1,
    targetAckDelay: 15,
    failoverAccepted: 0,
    endToEndFlowControl: 0,
    rnrRetryCount: 7,
    srq: 0,
    localCaGuid: 0n,
    privateData: new Uint8Array(0),
    ...fields,
  };
  return { kind: 'REP', body };
}

export function parse(bytes: Uint8Array): { frame: Frame; status: FrameStatus; icrcOk: boolean } {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
  return { frame, status, icrcOk: status === 0 && icrcMatches(frame) };
}
