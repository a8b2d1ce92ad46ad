/**
 * The exchange of rdmacm-utils' rdma_server and rdma_client over our devices: the client sends 16 bytes, the server
 * answers with 16 bytes, both disconnect. The server posts exactly one receive.
 */

import type { Device } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { Access, WrOpcode } from 'rocev2/transport';
import { drain } from './ucmatose.ts';

const DEFAULT_PORT = 7471;
const MESSAGE_BYTES = 16;

function makeSide(device: Device) {
  const pd = device.allocPd();
  const sendCq = device.createCq(4);
  const recvCq = device.createCq(4);
  const region = pd.regMr(MESSAGE_BYTES, { access: Access.LocalWrite });
  const qp = pd.createQp({ sendCq, recvCq, maxSendWr: 4, maxRecvWr: 4, maxInlineData: MESSAGE_BYTES });
  return { qp, sendCq, recvCq, region };
}

/** Serves one client; resolves when it has disconnected. */
export async function runRdmaServer(device: Device, port = DEFAULT_PORT): Promise<void> {
  const listener = device.cm.listen(port);
  const { value: request, done } = await listener.next();
  listener.close();
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed while a client was awaited');
  const { qp, sendCq, recvCq, region } = makeSide(device);
  await qp.modify({ state: 1, access: Access.LocalWrite });
  qp.postRecv({ wrId: 1, sges: [{ mr: region }] });
  const connection = await request.accept({ qp });
  await drain(recvCq, 1);
  qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: new Uint8Array(MESSAGE_BYTES) });
  await drain(sendCq, 1);
  await connection.disconnect();
}

export async function runRdmaClient(device: Device, address: string, port = DEFAULT_PORT): Promise<void> {
  const { qp, sendCq, recvCq, region } = makeSide(device);
  await qp.modify({ state: 1, access: Access.LocalWrite });
  qp.postRecv({ wrId: 1, sges: [{ mr: region }] });
  const connection = await device.cm.connect({ address, port, qp });
  qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: new Uint8Array(MESSAGE_BYTES) });
  await drain(sendCq, 1);
  await drain(recvCq, 1);
  await connection.disconnect();
}
