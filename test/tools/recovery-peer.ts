/**
 * A peer in a process of its own, for recovery.test.ts: serves one connection, and tells in the REP where it can be
 * written to. It never ends by itself. Argument: the link.
 */
import { Access, openDevice } from '../../src/index.ts';

const { device } = await openDevice({ link: process.argv[2] ?? '' });
const pd = device.allocPd();
const cq = device.createCq(16);
const mr = pd.regMr(1 << 20, { access: Access.LocalWrite | Access.RemoteWrite });
const listener = device.cm.listen(7471);
process.stdout.write('ready\n');
const { value: request, done } = await listener.next();
if (done !== true) {
  const privateData = new Uint8Array(12);
  const view = new DataView(privateData.buffer);
  view.setBigUint64(0, mr.iova);
  view.setUint32(8, mr.rkey);
  await request.accept({ qp: pd.createQp({ sendCq: cq, recvCq: cq }), privateData });
}
// Reading the end of this stream would end it; nobody writes.
process.stdin.resume();
