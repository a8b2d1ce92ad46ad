/**
 * RDMA WRITE with immediate: bulk data goes straight into the peer's memory, and 32 bits ring its bell.
 *
 *   npx tsx examples/write-with-immediate.ts
 *
 * A plain WRITE is silent: the peer's memory changes and its application is not told. With an immediate the same WRITE
 * also takes one receive from the peer and completes it. The receive says "this has arrived, all of it, and here is a
 * number"; its own buffers stay untouched. Here the number is the slot that was filled.
 */
import { createHash } from 'node:crypto';
import { Access, attachDevice, type Device, QpState, WcOpcode, World, WrOpcode } from 'rocev2';
import { completed } from './support.ts';

const PORT = 7471;
const SLOT_BYTES = 64 * 1024;
const SLOTS = 4;

const world = new World({ seed: 1, faults: { loss: 0.01 } }); // one packet in a hundred is lost: the transport repairs it
const sender = attachDevice(world, 'sender', { addresses: ['10.0.0.1/24'] });
const receiver = attachDevice(world, 'receiver', { addresses: ['10.0.0.2/24'] });

/** Lends its memory and waits for the bell. */
async function receive(device: Device): Promise<void> {
  const pd = device.allocPd();
  const slots = pd.regMr(SLOTS * SLOT_BYTES, { access: Access.LocalWrite | Access.RemoteWrite });
  const bell = device.createCq(SLOTS);
  const qp = pd.createQp({ sendCq: device.createCq(1), recvCq: bell });
  qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite });
  for (let slot = 0; slot < SLOTS; slot++) qp.postRecv({ wrId: slot }); // no buffers: only the immediate arrives here

  const listener = device.cm.listen(PORT);
  for await (const request of listener) {
    listener.close();
    // The answer to a connection request has room for a few bytes of ours: where to write, and the key that opens it.
    const offer = new DataView(new ArrayBuffer(12));
    offer.setBigUint64(0, slots.iova);
    offer.setUint32(8, slots.rkey);
    await request.accept({ qp, privateData: new Uint8Array(offer.buffer) });
  }

  for (let count = 0; count < SLOTS; count++) {
    const { opcode, immData: slot, byteLen } = await completed(bell);
    if (opcode !== WcOpcode.RecvRdmaWithImm) throw new Error(`unexpected completion with opcode ${opcode}`);
    const bytes = slots.bytes.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + byteLen);
    console.log(`receiver: slot ${slot} has ${byteLen} bytes, sha256 ${digest(bytes)}`);
  }
}

/** Fills the peer's slots, last one first, without the peer lifting a finger. */
async function send(device: Device): Promise<void> {
  const pd = device.allocPd();
  const sent = device.createCq(SLOTS);
  const qp = pd.createQp({ sendCq: sent, recvCq: device.createCq(1) });
  const connection = await device.cm.connect({ address: '10.0.0.2', port: PORT, qp });
  const { buffer, byteOffset } = connection.privateData;
  const offer = new DataView(buffer, byteOffset);
  const [remoteAddr, rkey] = [offer.getBigUint64(0), offer.getUint32(8)];

  const source = pd.regMr(SLOT_BYTES);
  for (let slot = SLOTS - 1; slot >= 0; slot--) {
    source.bytes.fill(0x41 + slot);
    qp.postSend({
      wrId: slot,
      opcode: WrOpcode.RdmaWriteWithImm,
      sges: [{ mr: source }],
      remoteAddr: remoteAddr + BigInt(slot * SLOT_BYTES),
      rkey,
      immData: slot,
    });
    // Until this completes the source belongs to the device: it may have to send any of it again.
    await completed(sent);
    console.log(`sender:   slot ${slot} is written, sha256 ${digest(source.bytes)}`);
  }
  await connection.disconnect();
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

await world.run(Promise.all([receive(receiver), send(sender)]));
