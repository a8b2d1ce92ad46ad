/**
 * The fields of management datagrams, for printers: names as tshark 4.0 has them, and one line that says the essential.
 *
 * Owns names only; the codecs are in `cm/`. tshark knows no fields for MRA, LAP, APR and the two SIDR messages: those
 * are `roce.cm.*`.
 *
 * Two of tshark's fields have the same name and another value here: `infiniband.cm.req.prim_flowlabel` and
 * `..._pktrate` (and `alt_`), which Wireshark 4.0 reads from wrong bytes (see `cm/path.ts`); here they are right.
 */

import {
  type CmMessage,
  type CmPath,
  type CmRep,
  type CmReq,
  cmKind,
  cmRejReasonName,
  IP_CM_HEADER_BYTES,
  isRdmaServiceId,
  parseCmMad,
  readCmMessage,
  readIpCmHeader,
} from './cm/index.ts';
import { type FieldList, hexNumber } from './field-list.ts';
import { MAD_BYTES, MAD_HEADER_BYTES, ManagementClass, readMadHeader } from './mad.ts';

/** Lists the MAD of `length` bytes at `offset`: its header, and the message when it is one of connection management. */
export function listMadFields(list: FieldList, view: DataView, offset: number, length: number): void {
  if (length < MAD_HEADER_BYTES) return;
  const header = readMadHeader(view, offset);
  list.begin('infiniband.mad');
  list.hex('infiniband.mad.baseversion', header.baseVersion, 2);
  list.hex('infiniband.mad.mgmtclass', header.mgmtClass, 2);
  list.hex('infiniband.mad.classversion', header.classVersion, 2);
  list.hex('infiniband.mad.method', header.method, 2);
  list.hex('infiniband.mad.status', header.status, 4);
  list.hex('infiniband.mad.classspecific', header.classSpecific, 4);
  list.hex('infiniband.mad.transactionid', header.transactionId, 16);
  list.hex('infiniband.mad.attributeid', header.attributeId, 4);
  const reserved = view.getUint16(offset + MAD_RESERVED_AT);
  if (reserved !== 0) list.hex('roce.mad.reserved16', reserved, 4);
  list.hex('infiniband.mad.attributemodifier', header.attributeModifier, 8);
  // Versions and method are no reason to hide what is there: they are listed above, and the message is laid out the
  // same.
  const kind = length >= MAD_BYTES && header.mgmtClass === ManagementClass.Cm ? cmKind(header.attributeId) : undefined;
  if (kind !== undefined) listCmMessage(list, readCmMessage(view, offset, kind));
}

/** "CM REQ comm 0xae46b463 ..."; undefined when the bytes are no message of connection management. */
export function describeCmMad(view: DataView, offset: number, length: number): string | undefined {
  const mad = parseCmMad(view, offset, length);
  return typeof mad === 'object' ? `CM ${mad.message.kind} ${describeCmMessage(mad.message)}` : undefined;
}

function describeCmMessage({ kind, body }: CmMessage): string {
  switch (kind) {
    case 'REQ':
      return `comm ${comm(body.localCommId)} service ${hexNumber(body.serviceId, 16)} ${end(body)}`;
    case 'REP':
      return `comm ${comm(body.localCommId)} for ${comm(body.remoteCommId)} ${end(body)}`;
    case 'REJ':
      return `comm ${comm(body.localCommId)} for ${comm(body.remoteCommId)} ${cmRejReasonName(body.reason)}`;
    case 'DREQ':
    case 'LAP':
      return `comm ${comm(body.localCommId)} for ${comm(body.remoteCommId)} remote qpn ${hexNumber(body.remoteQpn, 6)}`;
    case 'SIDR_REQ':
      return `request ${comm(body.requestId)} service ${hexNumber(body.serviceId, 16)}`;
    case 'SIDR_REP':
      return `request ${comm(body.requestId)} status ${body.status} qpn ${hexNumber(body.qpn, 6)} qkey ${hexNumber(body.qkey, 8)}`;
    default:
      return `comm ${comm(body.localCommId)} for ${comm(body.remoteCommId)}`;
  }
}

function comm(id: number): string {
  return hexNumber(id, 8);
}

function end({ localQpn, startingPsn }: CmReq | CmRep): string {
  return `qpn ${hexNumber(localQpn, 6)} psn ${startingPsn}`;
}

function listCmMessage(list: FieldList, message: CmMessage): void {
  switch (message.kind) {
    case 'REQ':
      listReq(list, message.body);
      break;
    case 'REP':
      listRep(list, message.body);
      break;
    case 'RTU':
    case 'DREP':
      listPair(list, message.kind === 'RTU' ? 'infiniband.cm.rtu' : 'infiniband.cm.drsp', message.body);
      break;
    case 'DREQ':
      list.begin('infiniband.cm.dreq');
      list.hex('infiniband.cm.dreq.localcommid', message.body.localCommId, 8);
      list.hex('infiniband.cm.dreq.remotecommid', message.body.remoteCommId, 8);
      list.hex('infiniband.cm.req.remoteqpneecn', message.body.remoteQpn, 6); // tshark's own name for it
      list.bytes('infiniband.cm.dreq.private', message.body.privateData);
      break;
    case 'REJ':
      list.begin('infiniband.cm.rej');
      list.hex('infiniband.cm.rej.localcommid', message.body.localCommId, 8);
      list.hex('infiniband.cm.rej.remotecommid', message.body.remoteCommId, 8);
      list.hex('infiniband.cm.rej.msgrej', message.body.messageRejected, 2);
      list.hex('infiniband.cm.rej.rejinfolen', message.body.infoLength, 2);
      list.hex('infiniband.cm.rej.reason', message.body.reason, 4);
      list.bytes('infiniband.cm.rej.ari', message.body.info);
      list.bytes('infiniband.cm.rej.private', message.body.privateData);
      break;
    default:
      listUnknownToTshark(list, message);
  }
}

function listReq(list: FieldList, req: CmReq): void {
  list.begin('infiniband.cm.req');
  list.hex('infiniband.cm.req', req.localCommId, 8);
  list.hex('roce.cm.req.vendorid', req.vendorId, 6);
  list.hex('infiniband.cm.req.serviceid', req.serviceId, 16);
  if (isRdmaServiceId(req.serviceId)) {
    list.hex('infiniband.cm.req.serviceid.protocol', (req.serviceId >> 16n) & 0xffn, 2);
    list.decimal('infiniband.cm.req.serviceid.dport', req.serviceId & 0xff_ffn);
  }
  list.hex('infiniband.cm.req.localcaguid', req.localCaGuid, 16);
  list.hex('infiniband.cm.req.localqkey', req.localQkey, 8);
  list.hex('infiniband.cm.req.localqpn', req.localQpn, 6);
  list.decimal('infiniband.cm.req.responderres', req.responderResources);
  list.hex('infiniband.cm.req.localeecn', req.localEecn, 6);
  list.decimal('infiniband.cm.req.initdepth', req.initiatorDepth);
  list.hex('infiniband.cm.req.remoteeecn', req.remoteEecn, 6);
  list.decimal('infiniband.cm.req.remoteresptout', req.remoteCmResponseTimeout);
  list.decimal('infiniband.cm.req.transpsvctype', req.transportServiceType);
  list.decimal('infiniband.cm.req.e2eflowctrl', req.endToEndFlowControl);
  list.decimal('infiniband.cm.req.startpsn', req.startingPsn);
  list.decimal('infiniband.cm.req.localresptout', req.localCmResponseTimeout);
  list.decimal('infiniband.cm.req.retrcount', req.retryCount);
  list.hex('infiniband.cm.req.pkey', req.partitionKey, 4);
  list.decimal('infiniband.cm.req.pppmtu', req.pathMtu);
  list.decimal('infiniband.cm.req.rdcexist', req.rdcExists);
  list.decimal('infiniband.cm.req.rnrretrcount', req.rnrRetryCount);
  list.decimal('infiniband.cm.req.maxcmretr', req.maxCmRetries);
  list.decimal('infiniband.cm.req.srq', req.srq);
  list.decimal('infiniband.cm.req.ext_transport', req.extendedTransportType);
  listPath(list, 'prim', req.primaryPath);
  listPath(list, 'alt', req.alternatePath);
  list.decimal('roce.cm.req.sapsupported', req.sapSupported);
  listReqPrivateData(list, req);
}

function listPath(list: FieldList, which: 'prim' | 'alt', path: CmPath): void {
  const name = `infiniband.cm.req.${which}`;
  // The section puts the path on a line of its own.
  list.begin(name);
  list.decimal(`${name}_locallid`, path.localLid);
  list.decimal(`${name}_remotelid`, path.remoteLid);
  if (which === 'prim') {
    for (const [end, gid] of Object.entries({ local: path.localGid, remote: path.remoteGid })) {
      list.address(`${name}_${end}gid${gid.version === 4 ? '_ipv4' : ''}`, gid);
    }
  } else {
    for (const [end, gid] of Object.entries({ local: path.localGid, remote: path.remoteGid })) {
      const bytes = new Uint8Array(16);
      gid.writeGid(new DataView(bytes.buffer), 0);
      list.bytes(`${name}_${end}gid`, bytes);
    }
  }
  list.hex(`${name}_flowlabel`, path.flowLabel, 5);
  list.decimal(`${name}_pktrate`, path.packetRate);
  list.hex(`${name}_tfcclass`, path.trafficClass, 2);
  list.decimal(`${name}_hoplim`, path.hopLimit);
  list.decimal(`${name}_sl`, path.serviceLevel);
  list.decimal(`${name}_subnetlocal`, path.subnetLocal);
  list.decimal(`${name}_localacktout`, path.localAckTimeout);
}

function listReqPrivateData(list: FieldList, { serviceId, privateData }: CmReq): void {
  const view = new DataView(privateData.buffer, privateData.byteOffset, privateData.length);
  const ip = isRdmaServiceId(serviceId) ? readIpCmHeader(view, 0) : undefined;
  if (ip === undefined) {
    list.begin('infiniband.cm.req.private');
    list.bytes('infiniband.cm.req.private', privateData);
    return;
  }
  const { version } = ip.source;
  list.begin('infiniband.cm.req.ip_cm');
  list.decimal('infiniband.cm.req.ip_cm.majv', view.getUint8(0) >> 4);
  list.decimal('infiniband.cm.req.ip_cm.minv', view.getUint8(0) & 0x0f);
  list.decimal('infiniband.cm.req.ip_cm.ipv', version);
  list.decimal('infiniband.cm.req.ip_cm.sport', ip.sourcePort);
  list.address(`infiniband.cm.req.ip_cm.sip${version}`, ip.source);
  list.address(`infiniband.cm.req.ip_cm.dip${version}`, ip.destination);
  list.bytes('infiniband.cm.req.ip_cm.private', privateData.subarray(IP_CM_HEADER_BYTES));
}

function listRep(list: FieldList, rep: CmRep): void {
  list.begin('infiniband.cm.rep');
  list.hex('infiniband.cm.rep', rep.localCommId, 8);
  list.hex('infiniband.cm.rep.remotecommid', rep.remoteCommId, 8);
  list.hex('infiniband.cm.rep.localqkey', rep.localQkey, 8);
  list.hex('infiniband.cm.rep.localqpn', rep.localQpn, 6);
  list.hex('infiniband.cm.rep.localeecn', rep.localEecn, 6);
  list.decimal('infiniband.cm.rep.startpsn', rep.startingPsn);
  list.hex('roce.cm.rep.vendorid', rep.vendorId, 6);
  list.decimal('infiniband.cm.rep.respres', rep.responderResources);
  list.decimal('infiniband.cm.rep.initdepth', rep.initiatorDepth);
  list.decimal('infiniband.cm.rep.tgtackdelay', rep.targetAckDelay);
  list.decimal('infiniband.cm.rep.failoveracc', rep.failoverAccepted);
  list.decimal('infiniband.cm.rep.e2eflowctrl', rep.endToEndFlowControl);
  list.decimal('infiniband.cm.rep.rnrretrcount', rep.rnrRetryCount);
  list.decimal('infiniband.cm.rep.srq', rep.srq);
  list.hex('infiniband.cm.rep.localcaguid', rep.localCaGuid, 16);
  list.bytes('infiniband.cm.rep.private', rep.privateData);
}

function listPair(
  list: FieldList,
  name: string,
  body: { readonly localCommId: number; readonly remoteCommId: number; readonly privateData: Uint8Array },
): void {
  list.begin(name);
  list.hex(`${name}.localcommid`, body.localCommId, 8);
  list.hex(`${name}.remotecommid`, body.remoteCommId, 8);
  list.bytes(`${name}.private`, body.privateData);
}

// Straight from the records: their field names say what they are, in lower case as all of tshark's names.
function listUnknownToTshark(list: FieldList, { kind, body }: CmMessage): void {
  const name = `roce.cm.${kind.toLowerCase()}`;
  list.begin(name);
  for (const [key, value] of Object.entries(body)) {
    const field = `${name}.${key.toLowerCase()}`;
    if (value instanceof Uint8Array) list.bytes(field, value);
    else if (typeof value === 'bigint') list.hex(field, value, 16);
    else if (typeof value === 'number') list.decimal(field, value);
  }
}

/** Between attribute id and modifier. */
const MAD_RESERVED_AT = 18;
