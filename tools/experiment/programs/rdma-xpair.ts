/**
 * The exchange of rdmacm-utils' rdma_xserver and rdma_xclient over our devices: one message of 16 bytes, over RC or
 * over XRC, where the server sends the number of its shared receive queue as private data.
 * Sources: rdma-core:librdmacm/examples/rdma_xserver.c, rdma_xclient.c.
 */
import { Option } from 'commander';
import type { Device } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { Access, QpState, QpType, WrOpcode } from 'rocev2/transport';
import { integer } from '../../options.ts';
import { type Program, program } from './program.ts';
import { drain } from './ucmatose.ts';

interface XFlags {
  readonly s: string;
  readonly p: number;
  readonly c: 'r' | 'x';
}

const serviceOption = () => new Option('-c <type>', 'r: RC, x: XRC').choices(['r', 'x']).default('r');

export const rdmaXserver: Program = program({
  name: 'rdma_xserver',
  summary: 'takes 16 bytes over RC or XRC, as rdma_xserver of rdmacm-utils',
  options: (command) => command.option('-p <port>', 'port', integer(1, 65_535), 7471).addOption(serviceOption()),
  run: async ({ device, output, signal }, { p, c }: XFlags) => {
    output.line('rdma_xserver: start');
    await serve(device, p, c === 'x', signal);
    output.line('rdma_xserver: end 0');
    return 0;
  },
});

export const rdmaXclient: Program = program({
  name: 'rdma_xclient',
  summary: 'sends 16 bytes over RC or XRC, as rdma_xclient of rdmacm-utils',
  options: (command) =>
    command
      .option('-s <address>', 'the server', '127.0.0.1')
      .option('-p <port>', 'port', integer(1, 65_535), 7471)
      .addOption(serviceOption()),
  run: async ({ device, output }, { s, p, c }: XFlags) => {
    output.line('rdma_xclient: start');
    await call(device, s, p, c === 'x');
    output.line('rdma_xclient: end 0');
    return 0;
  },
});

async function serve(device: Device, port: number, xrc: boolean, signal: AbortSignal): Promise<void> {
  const listener = device.cm.listen(port, { portSpace: xrc ? 'ib' : 'tcp' });
  if (signal.aborted) listener.close();
  signal.addEventListener('abort', () => listener.close());
  const { value: request, done } = await listener.next();
  listener.close();
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed while a client was awaited');
  const pd = device.allocPd();
  const cq = device.createCq(4);
  const receive = { wrId: 1, sges: [{ mr: pd.regMr(MESSAGE_BYTES, { access: Access.LocalWrite }) }] };
  const privateData = new Uint8Array(4);
  if (xrc) {
    const xrcd = device.openXrcd();
    const srq = pd.createSrq({ maxWr: 1, maxSge: 1, xrcd, cq });
    srq.postRecv(receive);
    new DataView(privateData.buffer).setUint32(0, srq.srqn);
    const connection = await request.accept({ qp: xrcd.createQp(), privateData });
    await drain(cq, 1);
    await connection.disconnect();
    return;
  }
  const qp = pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 });
  await qp.modify({ state: QpState.Init, access: Access.LocalWrite });
  qp.postRecv(receive);
  const connection = await request.accept({ qp, privateData });
  await drain(cq, 1);
  await connection.disconnect();
}

async function call(device: Device, address: string, port: number, xrc: boolean): Promise<void> {
  const cq = device.createCq(4);
  const type = xrc ? QpType.XrcSend : QpType.Rc;
  const queues = { sendCq: cq, recvCq: cq, maxSendWr: 1, maxRecvWr: 1, maxSge: 1, maxInlineData: MESSAGE_BYTES };
  const qp = device.allocPd().createQp({ type, ...queues });
  const connection = await device.cm.connect({ address, port, qp, portSpace: xrc ? 'ib' : 'tcp' });
  const told = connection.privateData;
  const srqn = xrc && told.length >= 4 ? new DataView(told.buffer, told.byteOffset).getUint32(0) : 0;
  const target = xrc ? { xrcRemoteSrqn: srqn } : {};
  qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: new Uint8Array(MESSAGE_BYTES), ...target });
  await drain(cq, 1);
  await connection.disconnect();
}

const MESSAGE_BYTES = 16;
