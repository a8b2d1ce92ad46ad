/**
 * rsockets: the bytes of the protocol, and a socket whose peer is bare verbs. An input is a list of records: the first
 * is the peer's connection data, the others what it does. Flags: 1: the record is a message (immediate data), 2: its
 * bytes are written into our data buffer first, 4: into our list of buffers; 8: the message is Data of their length; 16:
 * our application sends 50 bytes, 32: it maps memory, 64: it closes.
 */
import { IpAddress } from '../../../packets/index.ts';
import { Access, attachDevice, type Connection, QpState, RoceError, World, WrOpcode } from '../../../src/browser.ts';
import {
  readDatagramHeader,
  readUdpMessage,
  writeDatagramHeader,
  writeUdpMessage,
} from '../../../src/ulp/rsockets/datagram-protocol.ts';
import { RListener, type RSocket } from '../../../src/ulp/rsockets/index.ts';
import {
  type ConnData,
  connDataFault,
  RsOp,
  readConnData,
  readIomap,
  rsMessage,
  writeConnData,
  writeIomap,
  writeSge,
} from '../../../src/ulp/rsockets/protocol.ts';
import { type InputRecord, packRecords, unpackRecords } from '../engine/records.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { isRefusal } from './support/refusal.ts';

const Flag = { Message: 1, ToBuffer: 2, ToList: 4, Data: 8, Send: 16, Map: 32, Close: 64 } as const;
const PORT = 7471;
const KEY_AT = 16;

async function run(input: Uint8Array): Promise<string> {
  const [first, ...acts] = unpackRecords(input).slice(0, 12);
  const bytes = first?.bytes ?? new Uint8Array(0);
  checkCodecs(bytes);
  const world = new World({ seed: 1 });
  const open = (id: number) => attachDevice(world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 4200 });
  const [theirs, ours] = [open(1), open(2)];
  const peer = makePeer(theirs);
  const privateData = bytes.slice(0, 56);
  // Its own keys it knows.
  if (((first?.flags ?? 0) & Flag.Message) !== 0 && privateData.length >= 40) {
    const view = new DataView(privateData.buffer);
    view.setUint32(KEY_AT, peer.region.rkey);
    view.setUint32(32, peer.region.rkey);
  }
  const listener = RListener.listen(ours, { port: PORT, receiveBuffer: 200, receiveQueue: 16 });
  const accepting = listener.accept();
  const connecting = theirs.cm.connect({ address: '10.0.0.2', port: PORT, qp: peer.qp, privateData }).catch(refusal);
  const connection = await world.run(connecting);
  if (typeof connection === 'string') return connection;
  const socket = await world.run(accepting);
  return talk({ world, socket, connection, qp: peer.qp }, acts);
}

function makePeer(device: ReturnType<typeof attachDevice>) {
  const pd = device.allocPd();
  const cq = device.createCq(256);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  const region = pd.regMr(2000, { access: Access.LocalWrite | Access.RemoteWrite, iova: 0x1000n });
  qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite });
  for (let wrId = 0; wrId < 32; wrId++) qp.postRecv({ wrId });
  return { qp, region };
}

interface Talk {
  readonly world: World;
  readonly socket: RSocket;
  readonly connection: Connection;
  readonly qp: ReturnType<typeof makePeer>['qp'];
}

async function talk({ world, socket, connection, qp }: Talk, acts: readonly InputRecord[]): Promise<string> {
  const ours = readConnData(connection.privateData);
  promise(ours !== undefined && connDataFault(ours) === undefined, 'our connection data is valid');
  const ends = new Set<string>();
  const note = (error: unknown): void => void ends.add(refusal(error));
  let received = 0;
  const reading = (async () => {
    const into = new Uint8Array(64);
    for (let size = await socket.recv(into); size > 0; size = await socket.recv(into)) received += size;
  })().catch(note);
  void reading;
  for (const { flags, bytes } of acts) {
    perform({ world, socket, connection, qp }, ours, flags, bytes, note);
    await world.run(world.sleep(200_000));
  }
  await world.run(Promise.race([socket.destroy().catch(note), world.sleep(100e9)]), { maxTimeNs: 1e12 });
  return `${received > 0 ? 'data' : 'no data'}; ${[...ends].sort().join(', ')}`.slice(0, 100);
}

function perform(
  { socket, qp }: Talk,
  ours: ConnData,
  flags: number,
  bytes: Uint8Array,
  note: (error: unknown) => void,
): void {
  if ((flags & Flag.Send) !== 0) void socket.send(new Uint8Array(50)).catch(note);
  if ((flags & Flag.Map) !== 0) {
    try {
      socket.iomap(64);
    } catch (error) {
      note(error);
    }
    void socket.iowrite(new Uint8Array(8), 0n).catch(note);
  }
  if ((flags & Flag.Close) !== 0) void socket.close().catch(note);
  const inline = bytes.slice(4, 200);
  const to =
    (flags & Flag.ToBuffer) !== 0 ? ours.dataBuf : (flags & Flag.ToList) !== 0 ? ours.targetSgl : { addr: 0n, key: 0 };
  const put = (flags & (Flag.ToBuffer | Flag.ToList)) !== 0 ? inline : new Uint8Array(0);
  const said = bytes.length >= 4 ? new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) : 0;
  const immData = (flags & Flag.Data) !== 0 ? rsMessage(RsOp.Data, put.length) : said;
  try {
    qp.postSend({
      wrId: 0,
      opcode: (flags & Flag.Message) !== 0 ? WrOpcode.RdmaWriteWithImm : WrOpcode.RdmaWrite,
      immData,
      inline: put,
      remoteAddr: to.addr,
      rkey: to.key,
    });
  } catch (error) {
    // The peer's own queue pair has ended, or its queue is full.
    isRefusal(error, 'ERR_ROCE_STATE', 'ERR_ROCE_QUEUE_FULL', 'ERR_ROCE_ARGUMENT');
  }
}

/** What is read of any bytes is written and read again as the same. */
function checkCodecs(bytes: Uint8Array): void {
  const same = (a: unknown, b: unknown, what: string): void =>
    promise(text(a) === text(b), `${what} is read as it was written`);
  const data = readConnData(bytes);
  if (data !== undefined && connDataFault(data) === undefined)
    same(readConnData(writeConnData(data)), data, 'connection data');
  for (const version of [4, 6] as const) {
    const message = readUdpMessage(bytes, version);
    const source = IpAddress.parse(version === 4 ? '10.0.0.1' : 'fd00::1');
    if (message !== undefined)
      same(readUdpMessage(writeUdpMessage(message, source), version), message, 'a message over UDP');
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = readDatagramHeader(view, 0, bytes.length);
  if (header !== undefined) {
    const again = new DataView(new ArrayBuffer(24));
    same(readDatagramHeader(again, 0, writeDatagramHeader(again, 0, header)), header, 'the header of a datagram');
  }
  if (bytes.length >= 24) {
    const again = new DataView(new ArrayBuffer(24));
    writeIomap(again, 0, readIomap(view, 0, true), true);
    same([...new Uint8Array(again.buffer)], [...bytes.subarray(0, 24)], 'an iomap entry');
  }
}

function refusal(error: unknown): string {
  if (!(error instanceof RoceError)) throw error;
  return `${error.code}: ${error.message}`.replace(/\d+/g, 'N').slice(0, 60);
}

function text(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? `${member}n` : member));
}

function seeds(): Uint8Array[] {
  const data: ConnData = {
    ...{ version: 1, bigEndian: false, credits: 16, iomapSize: 2 },
    ...{ targetSgl: { addr: 0x1000n, key: 1, length: 2 }, dataBuf: { addr: 0x1100n, key: 1, length: 1000 } },
  };
  const begin = { flags: Flag.Message, bytes: writeConnData(data) };
  const say = (message: number, flags = 0, bytes = new Uint8Array(0)) => ({
    flags: Flag.Message | flags,
    bytes: Uint8Array.from([message >>> 24, (message >>> 16) & 255, (message >>> 8) & 255, message & 255, ...bytes]),
  });
  const entry = new Uint8Array(16);
  writeSge(new DataView(entry.buffer), 0, { addr: 0x1100n, key: 1, length: 100 }, true);
  const talks = [
    [say(0, Flag.ToBuffer | Flag.Data, new Uint8Array(30)), say(0, Flag.ToBuffer | Flag.Data, new Uint8Array(30))],
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((op) => [say(((op << 29) | 2) >>> 0), say(0, Flag.Send)]),
    ...[0, 1, 2].map((ctrl) => [say(((7 << 29) | ctrl) >>> 0, Flag.Send), say(0, Flag.Close)]),
    [say(((RsOp.Sgl << 29) | 16) >>> 0, Flag.ToList | Flag.Send, entry), say(0, Flag.Map), say(0, Flag.Close)],
    [],
  ].map((acts) => packRecords([begin, ...acts]));
  const udp = [4, 6].map((version) =>
    packRecords([
      {
        flags: 0,
        bytes: writeUdpMessage(
          { op: RsOp.Data, qpn: 5, data: new Uint8Array(3) },
          IpAddress.parse(version === 4 ? '10.0.0.1' : 'fd00::1'),
        ),
      },
    ]),
  );
  const headers = [Uint8Array.of(4, 8, 0, 1, 10, 0, 0, 1), Uint8Array.of(6, 24, 0, 1, ...new Uint8Array(20))];
  return [...talks, ...udp, ...headers.map((bytes) => packRecords([{ flags: 0, bytes }]))];
}

export const target: FuzzTarget = { name: 'rsockets', records: true, maxBytes: 1500, maxSteps: 5_000_000, seeds, run };
