/**
 * What our codecs read of a capsule or of its data, under the names that tshark has for it. A name below another one,
 * `cmic.mp` below `cmic`, is a part of a number that we read as a whole, and is in it.
 */
import {
  AdminOpcode,
  ASYNC_EVENT,
  ASYNC_EVENT_CONFIGURATION,
  AUTHENTICATION,
  blocksOf,
  CAP,
  CC,
  CM_REJECT,
  CM_REPLY,
  CM_REQUEST,
  COMMAND_BYTES,
  CONNECT,
  CONNECT_DATA,
  CONNECT_REFUSAL,
  CONNECT_RESULT,
  CSTS,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  GET_LOG_PAGE,
  IDENTIFY,
  isFua,
  isLimitedRetry,
  lbaOf,
  NUMBER_OF_QUEUES,
  type NvmeCommand,
  type NvmeCompletion,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  protectionOf,
  SglType,
  VS,
} from '../../../../src/ulp/nvme/codec/index.ts';
import type { ManagementMessage, Message } from './capsules-of.ts';
import { littleEndian, type Named, namesOfConnectData, namesOfData, under, type Value } from './tshark-pages.ts';

/** Of private data of the connection manager. */
export function namesOfPrivateData({ message, privateData }: ManagementMessage): Named {
  switch (message.kind) {
    case 'REQ':
      return under('nvme-rdma.cm.req', CM_REQUEST.read(privateData));
    case 'REP':
      return under('nvme-rdma.cm.rsp', CM_REPLY.read(privateData));
    case 'REJ': {
      const { recfmt = 0, sts = 0 } = CM_REJECT.read(privateData) ?? {};
      return under('nvme-rdma.cm.rej', { recfmt, status: sts });
    }
    default:
      return {};
  }
}

/** Of a message on a queue. */
export function namesOf(message: Message): Named {
  const { command, completion, of } = message;
  const queue = { 'nvme-rdma.cmd.qid': message.qid };
  if (command !== undefined) return { ...queue, ...namesOfCommand(message, command) };
  if (completion !== undefined) return { ...queue, ...namesOfCompletion(message.qid, completion, of?.command) };
  return of?.command === undefined ? queue : { ...queue, ...namesOfData(of.qid, of.command, message) };
}

function namesOfCommand({ qid, bytes }: Message, command: NvmeCommand): Named {
  const { sgl } = command;
  const keyed = sgl.type === SglType.KeyedDataBlock;
  const descriptor = {
    'nvme.cmd.sgl.type': sgl.type,
    'nvme.cmd.sgl.subtype': sgl.subtype,
    'nvme.cmd.sgl1.addr': sgl.address,
    'nvme.cmd.sgl1.len': sgl.length,
    ...(keyed && { 'nvme.cmd.sgl1.key': sgl.key }),
  };
  if (command.opcode === FABRICS_OPCODE) return { ...namesOfFabrics(command, bytes), ...descriptor };
  return {
    'nvme.cmd.opc': command.opcode,
    'nvme.cmd.fuse_op': command.fuse,
    'nvme.cmd.psdt': command.psdt,
    'nvme.cmd.cid': command.cid,
    'nvme.cmd.nsid': command.nsid,
    'nvme.cmd.mptr': (BigInt(command.mptrHigh) << 32n) | BigInt(command.mptrLow),
    ...descriptor,
    ...under('nvme.cmd', {
      dword10: command.cdw10,
      dword11: command.cdw11,
      dword12: command.cdw12,
      dword13: command.cdw13,
      dword14: command.cdw14,
      dword15: command.cdw15,
    }),
    ...(qid === 0 ? namesOfAdmin(command) : namesOfIo(command)),
  };
}

function namesOfFabrics(command: NvmeCommand, bytes: Uint8Array): Named {
  const common = {
    'nvme.fabrics.cmd.opc': Uint8Array.of(command.opcode),
    'nvme.fabrics.cmd.cid': command.cid,
    'nvme.fabrics.cmd.fctype': command.fabricsType,
  };
  switch (command.fabricsType) {
    case FabricsType.Connect: {
      const data = bytes.length > COMMAND_BYTES ? CONNECT_DATA.read(bytes, COMMAND_BYTES) : undefined;
      return {
        ...common,
        ...under('nvme.fabrics.cmd.connect', command.arguments(CONNECT)),
        ...namesOfConnectData(data),
      };
    }
    case FabricsType.PropertyGet:
    case FabricsType.PropertySet: {
      const { size, offset, value } = command.arguments(PROPERTY);
      const sets = command.fabricsType === FabricsType.PropertySet;
      const names = { 'attrib.size': size, attrib: size, offset };
      return {
        ...common,
        ...under('nvme.fabrics.cmd.prop_get_set', names),
        ...(sets && { 'nvme.fabrics.prop_get_set.data': littleEndian(value, 8), ...namesOfProperty(offset, value) }),
      };
    }
    case FabricsType.AuthenticationSend:
    case FabricsType.AuthenticationReceive: {
      const { length, ...rest } = command.arguments(AUTHENTICATION);
      return { ...common, ...under('nvme.fabrics.cmd.auth', { ...rest, al: length }) };
    }
    default:
      return common;
  }
}

function namesOfProperty(offset: number, value: bigint): Named {
  const set = 'nvme.fabrics.prop_get_set';
  const get = 'nvme.fabrics.prop_get';
  switch (offset) {
    case PropertyOffset.Cc: {
      const { crime: _, ...cc } = CC.ofNumber(value);
      return { [`${set}.cc`]: value, ...under(`${set}.cc`, cc) };
    }
    case PropertyOffset.Csts:
      return { [`${set}.csts`]: value, ...under(`${set}.csts`, CSTS.ofNumber(value)) };
    case PropertyOffset.Cap: {
      const { ams, crms: _, ...cap } = CAP.ofNumber(value);
      const names = { ...cap, 'ams.wrr': ams & 1, 'ams.vs': ams >> 1 };
      return { [`${get}.ccap`]: value, ...under(`${get}.ccap`, names) };
    }
    case PropertyOffset.Vs:
      return { [`${get}.vs`]: value, ...under(`${get}.vs`, VS.ofNumber(value)) };
    default:
      return {};
  }
}

function namesOfAdmin(command: NvmeCommand): Named {
  switch (command.opcode) {
    case AdminOpcode.Identify: {
      const { cns, cntid, cnssid, csi } = command.arguments(IDENTIFY);
      return under('nvme.cmd.identify', {
        dword10: command.cdw10,
        'dword10.cns': cns,
        'dword10.cntid': cntid,
        dword11: command.cdw11,
        'dwrod11.nvmesetid': cnssid,
        'dword11.rsvd': csi << 8,
        dword14: command.cdw14,
      });
    }
    case AdminOpcode.GetLogPage: {
      const { lid, lsp, rae, numd, lsi, lpo } = command.arguments(GET_LOG_PAGE);
      return under('nvme.cmd.get_logpage', {
        dword10: command.cdw10,
        'dword10.id': lid,
        'dword10.lsp': lsp & 0x1f,
        'dword10.rae': rae,
        'dword10.numdl': numd & 0xff_ff,
        dword11: command.cdw11,
        'dword11.numdu': numd >>> 16,
        'dword11.lsi': lsi,
        // Dwords less 1, as tshark takes them for bytes of the page.
        numd,
        lpo,
        dword14: command.cdw14,
      });
    }
    case AdminOpcode.SetFeatures:
    case AdminOpcode.GetFeatures: {
      const { fid, sel, save, value } = command.arguments(FEATURES);
      const sets = command.opcode === AdminOpcode.SetFeatures;
      const names = under(sets ? 'nvme.cmd.set_features' : 'nvme.cmd.get_features', {
        dword10: command.cdw10,
        'dword10.fid': fid,
        ...(sets && { 'dword10.sv': save, ...namesOfFeature('dword11', fid, value) }),
        dword14: command.cdw14,
      });
      // tshark has it under the other command.
      return sets ? names : { ...names, 'nvme.cmd.set_features.dword10.sel': sel };
    }
    default:
      return {};
  }
}

/** The value of a feature, in a command or a completion. */
function namesOfFeature(where: string, fid: number, value: number): Record<string, Value> {
  switch (fid) {
    case Feature.NumberOfQueues: {
      const { nsq, ncq } = NUMBER_OF_QUEUES.ofNumber(value);
      const [last, own] = where === 'dword11' ? ['r', 'nq.'] : ['a', where.includes('get') ? 'nq.' : ''];
      return { [`${where}.nq`]: value, [`${where}.nq.nsq${last}`]: nsq, [`${where}.${own}ncq${last}`]: ncq };
    }
    case Feature.AsyncEventConfiguration: {
      const { smart, namespaceAttribute, firmwareActivation, anaChange, discoveryChange } =
        ASYNC_EVENT_CONFIGURATION.ofNumber(value);
      return {
        [`${where}.aec`]: value,
        ...under(`${where}.aec`, {
          smart,
          ns: namespaceAttribute,
          fwa: firmwareActivation,
          ana: anaChange,
          disc: discoveryChange,
        }),
      };
    }
    case Feature.KeepAliveTimer:
      return { [`${where}.kat`]: value, [`${where}.kat.kato`]: value };
    case Feature.VolatileWriteCache:
      return { [`${where}.vwce`]: value, [`${where}.vwce.wce`]: value & 1 };
    default:
      return {};
  }
}

function namesOfIo(command: NvmeCommand): Named {
  switch (command.opcode) {
    case NvmOpcode.Read:
    case NvmOpcode.Write:
    case NvmOpcode.Compare:
    case NvmOpcode.WriteZeroes:
      return under('nvme.cmd', {
        slba: BigInt(lbaOf(command)),
        nlb: blocksOf(command),
        fua: isFua(command),
        lr: isLimitedRetry(command),
        prinfo: protectionOf(command),
      });
    default:
      return {};
  }
}

function namesOfCompletion(qid: number, c: NvmeCompletion, command: NvmeCommand | undefined): Named {
  return {
    ...under('nvme.cqe', {
      dword0: c.dw0,
      dword1: c.dw1,
      sqhd: c.sqhd,
      sqid: c.sqid,
      cid: c.cid,
      status: c.status * 2 + c.phase,
      'status.p': c.phase,
      'status.sc': c.status & 0xff,
      'status.sct': (c.status >>> 8) & 7,
      'status.crd': (c.status >>> 11) & 3,
      'status.m': (c.status >>> 13) & 1,
      'status.dnr': (c.status >>> 14) & 1,
    }),
    ...(command !== undefined && namesOfResult(qid, c, command)),
  };
}

function namesOfResult(qid: number, { dw0, dw1, status }: NvmeCompletion, command: NvmeCommand): Named {
  if (command.opcode === FABRICS_OPCODE) {
    const value = (BigInt(dw1) << 32n) | BigInt(dw0);
    if (command.fabricsType === FabricsType.PropertyGet) {
      const bytes = { 'nvme.fabrics.prop_get_set.data': littleEndian(value, 8) };
      return { ...bytes, ...namesOfProperty(command.arguments(PROPERTY).offset, value) };
    }
    if (command.fabricsType !== FabricsType.Connect) return { 'nvme.fabrics.cqe.sts': value };
    if (status !== 0) {
      const { ipo, inData } = CONNECT_REFUSAL.ofNumber(dw0);
      return under('nvme.fabrics.cqe.connect', { cntrlid: ipo, authreq: inData });
    }
    const { cntlid, authRequired, secureChannelRequired } = CONNECT_RESULT.ofNumber(dw0);
    const authreq = (authRequired ? 2 : 0) + (secureChannelRequired ? 4 : 0);
    return under('nvme.fabrics.cqe.connect', { cntrlid: cntlid, authreq });
  }
  if (qid !== 0) return {};
  if (command.opcode === AdminOpcode.AsyncEventRequest) {
    const { type, info, logPage } = ASYNC_EVENT.ofNumber(dw0);
    const names = { 'dword0.aev': dw0, 'dword0.aev.aet': type, 'dword0.aev.aei': info, 'dword0.aev.lpi': logPage };
    return under('nvme.cqe', names);
  }
  const { fid } = command.arguments(FEATURES);
  if (command.opcode === AdminOpcode.SetFeatures && status !== 0) return { 'nvme.cqe.dword0.set_features.err': dw0 };
  const ways: Record<number, string> = {
    [AdminOpcode.SetFeatures]: 'dword0.set_features',
    [AdminOpcode.GetFeatures]: 'dword0.get_features',
  };
  const way = ways[command.opcode];
  return way === undefined ? {} : under('nvme.cqe', namesOfFeature(way, fid, dw0));
}
