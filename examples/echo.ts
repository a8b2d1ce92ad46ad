/**
 * Echo: two processes, a reliable connection (RC) between them, and messages that come back.
 *
 *   npx tsx examples/echo.ts                                     both ends, on a simulated network
 *
 *   npx tsx examples/echo.ts --link qemu:/tmp/wire.sock --ip 10.0.0.2/24                                server
 *   npx tsx examples/echo.ts --link qemu:/tmp/wire.sock,connect --ip 10.0.0.1/24 --connect 10.0.0.2     client
 *
 * SEND is the operation closest to a socket: the receiver decides where the bytes go. It says so in advance, with a
 * receive work request; a SEND that finds none is turned away ("receiver not ready") and tried again.
 */
import { type MemoryRegion, QpState, type RdmaCq, type RdmaDevice, type RdmaQp, WcStatus, WrOpcode } from 'rocev2';
import { completed, runEnds } from './support.ts';

const PORT = 7471;
const MAX_BYTES = 256;
const WORDS = ['hello', 'who is there?', 'goodbye'];

/** What either end needs: a queue pair, where its receives complete, and the memory that they fill. */
interface End {
  readonly qp: RdmaQp;
  readonly received: RdmaCq;
  readonly inbox: MemoryRegion;
}

function makeEnd(device: RdmaDevice): End {
  const pd = device.allocPd(); // what belongs together: a queue pair reaches regions of its own domain only
  const inbox = pd.regMr(MAX_BYTES);
  const received = device.createCq(16);
  const qp = pd.createQp({ sendCq: device.createCq(16), recvCq: received });
  // Receives can be posted from state INIT on. It is the right moment: before the peer can possibly send.
  qp.modifyNow({ state: QpState.Init, access: 0 }); // SENDs need no access to our memory: the receive says where they go
  qp.postRecv({ wrId: 0, sges: [{ mr: inbox }] });
  return { qp, received, inbox };
}

async function server(device: RdmaDevice): Promise<void> {
  const listener = device.cm.listen(PORT);
  console.log(`server: waiting on port ${PORT}`);
  for await (const request of listener) {
    listener.close(); // one client is enough here
    console.log(`server: ${request.remoteAddress} connects`);
    const { qp, received, inbox } = makeEnd(device);
    const connection = await request.accept({ qp });
    for await (const { status, byteLen } of received) {
      // When the peer disconnects, the receive that still waits comes back "flushed".
      if (status !== WcStatus.Success) break;
      // Inline bytes are copied at once, so the inbox is free for the next receive, which goes first: the peer may be
      // quick.
      const reply = inbox.bytes.slice(0, byteLen);
      qp.postRecv({ wrId: 0, sges: [{ mr: inbox }] });
      qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: reply });
    }
    await connection.closed;
    console.log('server: the client has gone');
  }
}

async function client(device: RdmaDevice, address: string): Promise<void> {
  const { qp, received, inbox } = makeEnd(device);
  const connection = await device.cm.connect({ address, port: PORT, qp });
  for (const word of WORDS) {
    qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: new TextEncoder().encode(word) });
    const { byteLen } = await completed(received);
    console.log(`client: ${new TextDecoder().decode(inbox.bytes.subarray(0, byteLen))}`);
    qp.postRecv({ wrId: 0, sges: [{ mr: inbox }] });
  }
  await connection.disconnect();
}

await runEnds({ server, client });
