/**
 * A key-value store whose GET is one RDMA READ: the server's program does not run for it.
 *
 *   npx tsx examples/key-value-store.ts                          both ends, on a simulated network
 *
 *   npx tsx examples/key-value-store.ts --link qemu:/tmp/wire.sock --ip 10.0.0.2/24                                server
 *   npx tsx examples/key-value-store.ts --link qemu:/tmp/wire.sock,connect --ip 10.0.0.1/24 --connect 10.0.0.2     client
 *
 * The server lends a table of slots; a hash of the key says which one. A PUT is a SEND that the server carries out, a
 * GET reads the slot from afar. The server may change it in that very moment, and a READ of several packets has no
 * single moment: so each slot carries a checksum, and who reads one that is torn reads it again.
 */
import { Access, type MemoryRegion, QpState, type RdmaDevice, WcStatus, WrOpcode } from 'rocev2';
import { crc32 } from 'rocev2/packets';
import { completed, runEnds } from './support.ts';

const PORT = 7471;
const SLOTS = 1024;
/** A slot: checksum of the rest (4 bytes), then "key=value" in UTF-8, padded with zeros. */
const SLOT_BYTES = 128;
const PUTS = ['colour=teal', 'shape=round', 'colour=red'];
const GETS = ['colour', 'shape', 'size'];

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).replace(/\0+$/, '');
/** Two keys of one hash would need a place beside; a cache may simply forget the older one, as this does. */
const slotOf = (key: string): number => (crc32(encode(key)) % SLOTS) * SLOT_BYTES;

async function server(device: RdmaDevice): Promise<void> {
  const pd = device.allocPd();
  const table = pd.regMr(SLOTS * SLOT_BYTES, { access: Access.LocalWrite | Access.RemoteRead });
  const inbox = pd.regMr(SLOT_BYTES - 4);
  const received = device.createCq(16);
  const qp = pd.createQp({ sendCq: device.createCq(16), recvCq: received });
  qp.modifyNow({ state: QpState.Init, access: Access.RemoteRead });
  const listener = device.cm.listen(PORT);
  console.log(`server: waiting on port ${PORT}`);
  for await (const request of listener) {
    listener.close();
    qp.postRecv({ wrId: 0, sges: [{ mr: inbox }] });
    const offer = new DataView(new ArrayBuffer(12));
    offer.setBigUint64(0, table.iova);
    offer.setUint32(8, table.rkey);
    await request.accept({ qp, privateData: new Uint8Array(offer.buffer) });
    for await (const { status, byteLen } of received) {
      if (status !== WcStatus.Success) return;
      const entry = decode(inbox.bytes.subarray(0, byteLen));
      store(table, entry);
      console.log(`server: put ${entry}`);
      qp.postRecv({ wrId: 0, sges: [{ mr: inbox }] });
      qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline: new Uint8Array(0) }); // "done": the next GET will see it
    }
  }
}

function store(table: MemoryRegion, entry: string): void {
  const at = slotOf(entry.split('=')[0] ?? '');
  const slot = table.bytes.subarray(at, at + SLOT_BYTES).fill(0);
  slot.set(encode(entry), 4);
  table.view.setUint32(at, crc32(slot, 4));
}

async function client(device: RdmaDevice, address: string): Promise<void> {
  const pd = device.allocPd();
  const slot = pd.regMr(SLOT_BYTES);
  const [completions, answers] = [device.createCq(16), device.createCq(16)];
  const qp = pd.createQp({ sendCq: completions, recvCq: answers });
  const connection = await device.cm.connect({ address, port: PORT, qp });
  const offer = new DataView(connection.privateData.buffer, connection.privateData.byteOffset);
  const [base, rkey] = [offer.getBigUint64(0), offer.getUint32(8)];

  for (const entry of PUTS) {
    qp.postRecv({ wrId: 0 });
    qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline: encode(entry), signaled: false });
    await completed(answers);
  }
  for (const key of GETS) {
    const remoteAddr = base + BigInt(slotOf(key));
    for (let whole = false; !whole; whole = slot.view.getUint32(0) === crc32(slot.bytes, 4) || isEmpty(slot)) {
      qp.postSend({ wrId: 0, opcode: WrOpcode.RdmaRead, sges: [{ mr: slot }], remoteAddr, rkey });
      await completed(completions);
    }
    const [found, value] = decode(slot.bytes.subarray(4)).split('=');
    console.log(`client: ${key} is ${found === key ? value : 'not there'}`);
  }
  await connection.disconnect();
}

const isEmpty = ({ bytes }: MemoryRegion): boolean => bytes.every((byte) => byte === 0);

await runEnds({ server, client });
