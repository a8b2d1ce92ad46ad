// Goal: the codecs read what Linux hosts and targets of three kernels wrote, as tshark does, and write the same bytes.
// Method: the captures of NVMe over RDMA in test/vectors/peers. Every SEND of a queue is a capsule: those of the client
// are commands, those of the server responses.
import { describe, expect, it } from 'vitest';
import { parseCmMad } from '../../../../packets/cm/index.ts';
import { IP_CM_HEADER_BYTES } from '../../../../packets/cm/ip-cm-header.ts';
import { FrameStatus, frameSource, isMad, opcodeInfo } from '../../../../packets/index.ts';
import {
  AdminOpcode,
  CAP,
  CC,
  CM_REPLY,
  CM_REQUEST,
  COMMAND_BYTES,
  COMPLETION_BYTES,
  CONNECT,
  CONNECT_DATA,
  CSTS,
  FABRICS_OPCODE,
  FabricsType,
  IDENTIFY,
  IDENTIFY_CONTROLLER,
  IDENTIFY_NAMESPACE,
  IdentifyCns,
  lbaOf,
  NvmeCommand,
  NvmeCompletion,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  readCommand,
  readCompletion,
  SglType,
  writeCommand,
  writeCompletion,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { decodeFrame } from '../../../interop/frame-decoder.ts';
import { PEER_CAPTURES, peerPackets } from '../../../vectors/captures.ts';

const CAPTURES = PEER_CAPTURES.filter((name) => name.includes('nvme'));
const CLIENT = '10.77.0.2';

interface Message {
  readonly fromClient: boolean;
  /** Queue pair that it went to. */
  readonly qpn: number;
  /** Opcode of its first packet. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** SENDs and RDMA WRITEs, whole: the captures have no loss. */
function messagesOf(capture: string): { messages: Message[]; privateData: { kind: string; bytes: Uint8Array }[] } {
  const open = new Map<string, { name: string; parts: Uint8Array[] }>();
  const messages: Message[] = [];
  const privateData: { kind: string; bytes: Uint8Array }[] = [];
  for (const { bytes } of peerPackets(capture)) {
    const { frame, status } = decodeFrame(bytes);
    if (status !== FrameStatus.Ok) continue;
    const payload = bytes.slice(frame.payloadOffset, frame.payloadOffset + frame.payloadLength);
    if (isMad(frame)) {
      const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
      if (typeof mad === 'object' && 'privateData' in mad.message.body)
        privateData.push({ kind: mad.message.kind, bytes: mad.message.body.privateData });
      continue;
    }
    const { name } = opcodeInfo(frame.opcode);
    if (!/SEND|RDMA WRITE/.test(name)) continue;
    const fromClient = frameSource(frame).toString() === CLIENT;
    const key = `${fromClient} ${frame.destQpn}`;
    const first = /First|Only/.test(name);
    const message = first ? { name, parts: [] } : (open.get(key) ?? { name, parts: [] });
    message.parts.push(payload);
    open.set(key, message);
    if (/Last|Only/.test(name))
      messages.push({ fromClient, qpn: frame.destQpn, name: message.name, bytes: joined(message.parts) });
  }
  return { messages, privateData };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const viewOf = (data: Uint8Array): DataView => new DataView(data.buffer, data.byteOffset, data.byteLength);

function commandOf({ bytes }: Message): NvmeCommand {
  const command = new NvmeCommand();
  expect(readCommand(viewOf(bytes), 0, bytes.length, command)).toBe(true);
  return command;
}

describe.each(CAPTURES)('%s', (capture) => {
  const { messages, privateData } = messagesOf(capture);
  const capsules = messages.filter(({ name }) => name.includes('SEND'));
  const commands = capsules.filter(({ fromClient }) => fromClient);
  const responses = capsules.filter(({ fromClient }) => !fromClient);

  it('has commands and as many responses, but for those that are never answered', () => {
    expect(commands.length).toBeGreaterThan(30);
    expect(responses.length).toBeGreaterThanOrEqual(commands.length - 2);
    expect(responses.length).toBeLessThanOrEqual(commands.length);
  });

  it('has commands that are written as they were', () => {
    for (const message of commands) {
      const written = new Uint8Array(COMMAND_BYTES).fill(0xa5);
      writeCommand(viewOf(written), 0, commandOf(message));
      expect(written).toEqual(message.bytes.subarray(0, COMMAND_BYTES));
    }
  });

  it('has responses that are written as they were', () => {
    for (const { bytes } of responses) {
      const c = new NvmeCompletion();
      expect(bytes).toHaveLength(COMPLETION_BYTES);
      expect(readCompletion(viewOf(bytes), 0, bytes.length, c)).toBe(true);
      const written = new Uint8Array(COMPLETION_BYTES).fill(0xa5);
      writeCompletion(viewOf(written), 0, c.cid, c.status, c.sqhd, c.dw0, c.dw1, c.sqid);
      expect(written).toEqual(bytes);
      expect(c.phase).toBe(0);
    }
  });

  it('asks for queues with private data that is written as it was', () => {
    const requests = privateData
      .filter(({ kind }) => kind === 'REQ')
      .map(({ bytes }) => bytes.slice(IP_CM_HEADER_BYTES));
    expect(requests.length).toBeGreaterThan(1);
    for (const [qid, bytes] of requests.entries()) {
      const request = CM_REQUEST.read(bytes);
      expect(request).toMatchObject({ recfmt: 0, qid });
      expect(request?.hsqsize).toBe((request?.hrqsize ?? 0) - 1);
      expect(CM_REQUEST.encode(request ?? {})).toEqual(bytes.slice(0, 32));
    }
    const replies = privateData.filter(({ kind }) => kind === 'REP').map(({ bytes }) => CM_REPLY.read(bytes));
    expect(replies).toHaveLength(requests.length);
    for (const reply of replies) expect(reply).toMatchObject({ recfmt: 0 });
    expect(replies[0]?.crqsize).toBe(32);
  });

  it('connects with the names of host and subsystem', () => {
    const connects = commands
      .map(commandOf)
      .filter(({ opcode, nsid }) => opcode === FABRICS_OPCODE && (nsid & 0xff) === FabricsType.Connect);
    expect(connects[0]?.arguments(CONNECT)).toMatchObject({ recfmt: 0, qid: 0, sqsize: 31 });
    // Of I/O queues the data is in the capsule.
    const [message] = commands.filter(({ bytes }) => bytes.length === COMMAND_BYTES + CONNECT_DATA.byteLength);
    const data = CONNECT_DATA.read(message?.bytes ?? new Uint8Array(0), COMMAND_BYTES);
    expect(data).toMatchObject({
      subnqn: 'nqn.2026-11.example:ram',
      hostnqn: 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a',
    });
    expect(CONNECT_DATA.encode(data ?? {})).toEqual(message?.bytes.slice(COMMAND_BYTES));
  });

  it('makes the controller ready, and shuts it down', () => {
    const results = new Map<number, NvmeCompletion>();
    for (const { bytes } of responses) {
      const completion = new NvmeCompletion();
      readCompletion(viewOf(bytes), 0, bytes.length, completion);
      if (!results.has(completion.cid)) results.set(completion.cid, completion);
    }
    const properties = commands
      .map(commandOf)
      .filter(({ opcode, fabricsType }) => opcode === FABRICS_OPCODE && fabricsType !== FabricsType.Connect);
    const configurations = properties
      .filter(({ fabricsType }) => fabricsType === FabricsType.PropertySet)
      .map((command) => command.arguments(PROPERTY))
      .filter(({ offset }) => offset === PropertyOffset.Cc)
      .map(({ value }) => CC.ofNumber(value));
    expect(configurations.some(({ en, iosqes, iocqes }) => en && iosqes === 6 && iocqes === 4)).toBe(true);
    expect(configurations.at(-1)?.shn).toBe(1);
    const [cap] = properties.filter((command) => command.arguments(PROPERTY).offset === PropertyOffset.Cap);
    const { dw0 = 0, dw1 = 0 } = results.get(cap?.cid ?? -1) ?? {};
    expect(CAP.ofNumber((BigInt(dw1) << 32n) | BigInt(dw0))).toMatchObject({ to: 15, mpsmin: 0 });
    expect(CAP.ofNumber((BigInt(dw1) << 32n) | BigInt(dw0)).mqes).toBeGreaterThan(15);
    expect(CSTS.ofNumber(1).rdy).toBe(true);
  });

  it('identifies a controller that a host on RDMA accepts, and a namespace', () => {
    const asked = commands
      .map(commandOf)
      .filter(({ opcode, nsid, sgl }) => opcode === AdminOpcode.Identify && nsid <= 1 && sgl.length === 4096);
    const found = asked.map((command) => command.arguments(IDENTIFY).cns);
    for (const cns of [IdentifyCns.Controller, IdentifyCns.ActiveNamespaces, IdentifyCns.Namespace])
      expect(found).toContain(cns);
    const pages = messages
      .filter(({ name, bytes }) => name.includes('WRITE') && bytes.length === 4096)
      .map(({ bytes }) => bytes);
    const controller = pages
      .map((page) => IDENTIFY_CONTROLLER.read(page))
      .find((one) => one?.subnqn === 'nqn.2026-11.example:ram');
    expect(controller).toMatchObject({
      sglsKeyed: true,
      sglsOffset: true,
      sqes: 0x66,
      cqes: 0x44,
      msdbd: 1,
      icdoff: 0,
      iorcsz: 1,
    });
    expect(controller?.ioccsz).toBeGreaterThanOrEqual(4);
    expect(controller?.mn).toBe('Linux');
    const namespace = pages
      .map((page) => IDENTIFY_NAMESPACE.read(page))
      .find((one) => one?.nsze === one?.ncap && (one?.lbaf[0]?.lbads ?? 0) === 9);
    expect(namespace?.nsze).toBeGreaterThan(0n);
  });

  it('reads and writes with descriptors of both kinds', () => {
    const io = commands
      .map(commandOf)
      .filter(({ opcode, cdw12 }) => opcode === NvmOpcode.Read || (opcode === NvmOpcode.Write && cdw12 !== 0));
    const reads = io.filter(({ opcode, nsid }) => opcode === NvmOpcode.Read && nsid === 1);
    expect(reads.some(({ sgl }) => sgl.invalidates && sgl.length === 16_384)).toBe(true);
    const write = commands.find(({ bytes }) => bytes.length === COMMAND_BYTES + 4096);
    if (write === undefined) throw new Error('the first write has 4096 bytes in the capsule');
    const command = commandOf(write);
    expect([command.opcode, command.sgl.type, command.sgl.offset, lbaOf(command)]).toEqual([
      NvmOpcode.Write,
      SglType.DataBlock,
      0,
      0,
    ]);
  });
});
