/** Scenes of `connection-refused` and `connect-timeout`: requests that are refused, never answered, or late. */

import { ConnectionRejected, type ConnectOptions } from 'rocev2';
import { Frame, type IpAddress, Medium, Op, parseFrame } from 'rocev2/packets';
import { parseCmMad } from 'rocev2/packets/management';
import { WcStatus } from 'rocev2/transport';
import type { Host, StageEnd } from './end.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const CONNECTION_SCENES: readonly Scene[] = [
  {
    symptom: 'connection-refused',
    name: 'refused-no-listener',
    triggers: true,
    about: 'No process listens on the port at B: reason 8, three times.',
    make: () => play({ vantages: ['A'] }, noListener),
  },
  {
    symptom: 'connection-refused',
    name: 'refused-other-service',
    triggers: true,
    about: 'B listens for UC connections only, A requests RC: reason 9.',
    make: () => play({ vantages: ['B'] }, otherService),
  },
  {
    symptom: 'connection-refused',
    name: 'refused-by-application',
    triggers: false,
    about: 'The application at B calls rdma_reject with a reason: no fault of the network.',
    make: () => play({ vantages: ['A'] }, byApplication),
  },
  {
    symptom: 'connection-refused',
    name: 'refused-then-accepted',
    triggers: false,
    about: 'The client is faster than the server: refused once, accepted a little later.',
    make: () => play({ vantages: ['A'] }, thenAccepted),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-timeout-dead-host',
    triggers: true,
    about: 'B is unplugged: four requests, no answer, and A gives up.',
    make: () => play({ vantages: ['A'] }, deadHost),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-timeout-backlog',
    triggers: true,
    about: 'The listener takes two connections, never accepts a third, and its backlog is full for the fourth.',
    make: () => play({ vantages: ['mirror'] }, backlog),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-timeout-unheard-answer',
    triggers: true,
    about: 'B answers again and again, and A does not receive it: the capture has no RTU of A.',
    make: () => play({ vantages: ['B'] }, unheardAnswer),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-slow-answer',
    triggers: false,
    about: 'The first two requests are lost, the third is answered.',
    make: () => play({ vantages: ['A'] }, slowAnswer),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-capture-ends',
    triggers: false,
    about: 'The capture ends when the second request has been sent.',
    make: () => play({ vantages: ['A'] }, captureEnds),
  },
  {
    symptom: 'connect-timeout',
    name: 'connect-answer-not-captured',
    triggers: false,
    about: 'The capture lacks the answers of connection management, but the connection works.',
    make: () =>
      play({ vantages: ['A'], keep: ({ bytes, direction }) => direction === 'out' || !isCm(bytes) }, (stage) =>
        slowAnswer(stage),
      ),
  },
];

/** 4.096 us * 2^8: 1 ms. */
const QUICK = 8;

function connect(from: StageEnd, to: Host, more: Partial<ConnectOptions> = {}) {
  return from.host.device.cm.connect({
    address: `10.0.0.${to.mac[5]}`,
    port: PORT,
    qp: from.qp,
    mtu: 1024,
    cmResponseTimeout: QUICK,
    maxCmRetries: 3,
    ...more,
  });
}

async function demandRefusal(connecting: Promise<unknown>): Promise<void> {
  const refused = await connecting.then(
    () => false,
    (error: unknown) => error instanceof ConnectionRejected,
  );
  if (!refused) throw new TypeError('a connection of the scene is to be refused');
}

async function noListener(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (let i = 0; i < 3; i++) await demandRefusal(connect(stage.end(a), b));
}

async function otherService(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  b.device.cm.listen(PORT, { services: ['uc'] });
  await demandRefusal(connect(stage.end(a), b));
}

async function byApplication(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const listener = b.device.cm.listen(PORT);
  const rejected = listener.next().then(({ value }) => value?.reject(new TextEncoder().encode('no room for you')));
  await demandRefusal(connect(stage.end(a), b));
  await rejected;
}

async function thenAccepted(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  await demandRefusal(connect(stage.end(a), b));
  await stage.sleep(1e6);
  await works(stage, a, b);
}

/** Connects, writes something. */
async function works(stage: Stage, a: Host, b: Host): Promise<void> {
  const [left, right] = [stage.end(a), stage.end(b)];
  const listener = b.device.cm.listen(PORT);
  const accepted = listener.next().then(({ value }) => value?.accept({ qp: right.qp }));
  await connect(left, b);
  await accepted;
  listener.close();
  demandStatus(await left.write(right, 5_000), WcStatus.Success);
}

async function deadHost(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  // Its MAC address is known from earlier traffic.
  await a.device.resolve(addressOf(b));
  stage.unplug(b);
  await connect(stage.end(a), b).catch(() => undefined);
  await stage.goOn(5e6);
}

async function backlog(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const listener = b.device.cm.listen(PORT, { backlog: 1 });
  for (let i = 0; i < 2; i++) {
    const accepted = listener.next().then(({ value }) => value?.accept({ qp: stage.end(b).qp }));
    await connect(stage.end(a), b);
    await accepted;
  }
  // The third waits for an application that does not come, and the fourth finds no room.
  const third = connect(stage.end(a), b, { cmResponseTimeout: 16 }).catch(() => undefined);
  await stage.sleep(1e6);
  await connect(stage.end(a), b).catch(() => undefined);
  await Promise.race([third, stage.sleep(1e6)]);
}

async function unheardAnswer(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  await b.device.resolve(addressOf(a));
  stage.rule({ port: 'A', direction: 'receive', match: ({ opcode }) => opcode === Op.UdSendOnly, action: 'drop' });
  const listener = b.device.cm.listen(PORT);
  const accepted = listener.next().then(({ value }) => value?.accept({ qp: stage.end(b).qp }));
  await connect(stage.end(a), b, { maxCmRetries: 5 }).catch(() => undefined);
  await Promise.race([accepted?.catch(() => undefined), stage.sleep(20e6)]);
}

async function slowAnswer(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (const nth of [1, 2])
    stage.rule({
      port: 'B',
      direction: 'receive',
      match: ({ opcode }) => opcode === Op.UdSendOnly,
      nth,
      action: 'drop',
    });
  await works(stage, a, b);
}

async function captureEnds(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  stage.rule({ port: 'B', direction: 'receive', match: ({ opcode }) => opcode === Op.UdSendOnly, action: 'drop' });
  const connecting = connect(stage.end(a), b, { cmResponseTimeout: 12 }).catch(() => undefined);
  await Promise.race([connecting, stage.sleep(25e6)]);
}

function addressOf({ addresses: [address], name }: Host): IpAddress {
  if (address === undefined) throw new TypeError(`${name} has no address`);
  return address;
}

function isCm(bytes: Uint8Array): boolean {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
  return (
    frame.opcode === Op.UdSendOnly && typeof parseCmMad(view, frame.payloadOffset, frame.payloadLength) !== 'number'
  );
}

const PORT = 7_471;
