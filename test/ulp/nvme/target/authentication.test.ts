// Goal: a target lets nobody pass who does not prove to have the secret, on any queue, and lives whatever is sent.
// Method: a host of verbs and bytes, whose messages are those of the host's side, in order or not.
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { HostSide, type HostTerms } from '../../../../src/ulp/nvme/auth/host-side.ts';
import { DhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import { setBlocks } from '../../../../src/ulp/nvme/codec/index.ts';
import {
  AdminOpcode,
  AUTH_FAILURE,
  AUTH_MAX_BYTES,
  AUTHENTICATION,
  AuthenticationFailure,
  AuthenticationId,
  CONNECT_RESULT,
  type Controller,
  DhchapGroup,
  DhchapHash,
  FABRICS_OPCODE,
  FabricsType,
  type HostAccess,
  NvmeStatus,
  NvmeSubsystem,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  SECP_NVME,
  STATUS_CODE_MASK,
  STATUS_DNR,
  type TargetQueue,
} from '../../../../src/ulp/nvme/index.ts';
import { CONTROLLER_SECRET, HOST_SECRET, OTHER_SECRET, secretText } from '../auth/support.ts';
import { CC_ENABLED, HOST_NQN, NQN, ScriptedQueue, type Served, serve } from './support.ts';

const ACCESS: HostAccess = { nqn: HOST_NQN, secret: HOST_SECRET, controllerSecret: CONTROLLER_SECRET };
const WITHIN_NS = 60e9;
const KATO_MS = 5000;
const KEEP_ALIVE_NS = 6e9;
const CLOSE_AFTER_NS = 5e9;

interface Guarded extends Served {
  /** What the observer was told: queue and reason, undefined for success. */
  readonly told: [number, number | undefined][];
}

function guarded(access: Partial<HostAccess> = {}): Guarded {
  const told: [number, number | undefined][] = [];
  const observer = {
    queueJoined: (): void => {},
    queueClosed: (): void => {},
    authenticated: (_: Controller, { qid }: TargetQueue, failure: number | undefined): void => {
      told.push([qid, failure]);
    },
  };
  const served = serve({ observer }, { hosts: [{ ...ACCESS, ...access }], crypto: nvmeCrypto });
  return { ...served, told };
}

/** Authentication Send; resolves with the status. */
async function sendMessage(queue: ScriptedQueue, message: Uint8Array, length = message.length): Promise<number> {
  const command = queue.command(FABRICS_OPCODE, FabricsType.AuthenticationSend);
  command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length });
  queue.memory.bytes.set(message);
  return (await queue.send(queue.withData(command, message.length))).status;
}

/** Authentication Receive; resolves with the message, in a buffer as large as Linux has it. */
async function receiveMessage(queue: ScriptedQueue): Promise<Uint8Array> {
  const command = queue.command(FABRICS_OPCODE, FabricsType.AuthenticationReceive);
  command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length: 4096 });
  expect((await queue.send(queue.withData(command, 4096))).status).toBe(0);
  return queue.memory.bytes.slice(0, 4096);
}

function hostSide(terms: Partial<HostTerms> = {}, transaction = 7): HostSide {
  const common = {
    suite: nvmeCrypto,
    hostNqn: HOST_NQN,
    subNqn: NQN,
    secret: DhchapSecret.parse(HOST_SECRET),
    controllerSecret: DhchapSecret.parse(CONTROLLER_SECRET),
  };
  return new HostSide({ ...common, ...terms }, transaction);
}

/** The whole exchange; 0, or the reason for which it failed. */
async function authenticate(queue: ScriptedQueue, host = hostSide()): Promise<number> {
  expect(await sendMessage(queue, host.negotiate())).toBe(0);
  const reply = await host.challenged(await receiveMessage(queue));
  if (reply.send !== undefined) expect(await sendMessage(queue, reply.send)).toBe(0);
  if (reply.failure !== undefined) return reply.failure;
  const end = await host.succeeded(await receiveMessage(queue));
  if (end.send !== undefined) expect(await sendMessage(queue, end.send)).toBe(0);
  return end.failure ?? 0;
}

/** An admin queue whose Connect has succeeded. */
async function connected(served: Served): Promise<ScriptedQueue> {
  const queue = await ScriptedQueue.open(served, 0);
  expect((await queue.connect()).status).toBe(0);
  return queue;
}

const required = NvmeStatus.AuthenticationRequired | STATUS_DNR;

describe('a target with a secret for the host', () => {
  it('demands authentication, on every queue, and serves its disk then', async () => {
    const served = guarded();
    const admin = await ScriptedQueue.open(served, 0);
    const { dw0, status } = await admin.connect();
    expect([status, CONNECT_RESULT.ofNumber(dw0)]).toMatchObject([0, { authRequired: true, cntlid: 1 }]);
    expect(await authenticate(admin)).toBe(0);
    expect(await admin.setProperty(PropertyOffset.Cc, CC_ENABLED)).toBe(0);
    const io = await ScriptedQueue.open(served, 1);
    const joined = await io.connect({ qid: 1 }, { cntlid: 1 });
    expect(CONNECT_RESULT.ofNumber(joined.dw0).authRequired).toBe(true);
    expect((await io.send(io.command(NvmOpcode.Flush, 1))).status).toBe(required);
    // As large as a disk in memory lends: it does not come by another way.
    const read = io.command(NvmOpcode.Read);
    setBlocks(read, NvmOpcode.Read, 1, 0, 256);
    expect((await io.send(io.withData(read, 256 * 512))).status).toBe(required);
    const write = io.command(NvmOpcode.Write);
    setBlocks(write, NvmOpcode.Write, 1, 0, 256);
    expect((await io.send(io.withData(write, 256 * 512))).status).toBe(required);
    // Nothing but the data of Connect was fetched, and nothing sent.
    expect(served.target.queues[1]?.counters).toMatchObject({ bytesFromHost: 1024, bytesToHost: 0 });
    expect(served.target.controllers[0]?.io).toMatchObject({ reads: 0, writes: 0 });
    expect(await authenticate(io)).toBe(0);
    expect((await io.send(io.command(NvmOpcode.Flush, 1))).status).toBe(0);
    expect(served.told).toEqual([
      [0, undefined],
      [1, undefined],
    ]);
    expect(served.timers.expire(WITHIN_NS)).toBe(0);
  });

  it.each<[string, (queue: ScriptedQueue) => Promise<number>]>([
    ['Property Get', async (queue) => property(queue, FabricsType.PropertyGet)],
    ['Property Set', async (queue) => property(queue, FabricsType.PropertySet)],
    ['Identify', async (queue) => statusOf(queue, queue.withData(queue.command(AdminOpcode.Identify), 4096))],
    ['Keep Alive', async (queue) => statusOf(queue, queue.command(AdminOpcode.KeepAlive))],
    ['an event request', async (queue) => statusOf(queue, queue.command(AdminOpcode.AsyncEventRequest))],
    ['Set Features', async (queue) => statusOf(queue, queue.command(AdminOpcode.SetFeatures))],
    ['an opcode nobody knows', async (queue) => statusOf(queue, queue.command(0xee))],
  ])('refuses %s before, in the middle, and after a failure', async (_, command) => {
    const served = guarded();
    const queue = await connected(served);
    expect(await command(queue)).toBe(required);
    const host = hostSide();
    await sendMessage(queue, host.negotiate());
    expect(await command(queue)).toBe(required);
    await receiveMessage(queue);
    expect(await command(queue)).toBe(required);
    await sendMessage(queue, new Uint8Array(8));
    await receiveMessage(queue);
    expect(await command(queue)).toBe(required);
  });

  it('lets no I/O queue join before the admin queue has passed', async () => {
    const served = guarded();
    await connected(served);
    const io = await ScriptedQueue.open(served, 1);
    expect((await io.connect({ qid: 1 }, { cntlid: 1 })).status & STATUS_CODE_MASK).toBe(
      NvmeStatus.CommandSequenceError,
    );
  });

  it.each<[string, Partial<HostAccess>]>([
    ['SHA-384 and the null group', { hash: DhchapHash.Sha384 }],
    ['SHA-512 and 3072 bits', { hash: DhchapHash.Sha512, group: DhchapGroup.Ffdhe3072 }],
    ['8192 bits', { group: DhchapGroup.Ffdhe8192 }],
  ])('does it with %s', async (_, access) => {
    expect(await authenticate(await connected(guarded(access)))).toBe(0);
  });

  it('names the reason, closes the connection, and serves the next host', async () => {
    const served = guarded();
    const queue = await connected(served);
    const impostor = hostSide({ secret: DhchapSecret.parse(OTHER_SECRET) });
    expect(await authenticate(queue, impostor)).toBe(AuthenticationFailure.Failed);
    expect(served.told).toEqual([[0, AuthenticationFailure.Failed]]);
    expect(served.target.counters.authenticationsFailed).toBe(1);
    expect(served.timers.expire(CLOSE_AFTER_NS)).toBe(1);
    await served.world.run(queue.connection.closed);
    expect([served.target.queues, served.target.controllers]).toEqual([[], []]);
    expect(await authenticate(await connected(served))).toBe(0);
  });

  it('closes the I/O queue alone whose host fails', async () => {
    const served = guarded();
    const admin = await connected(served);
    await authenticate(admin);
    await admin.setProperty(PropertyOffset.Cc, CC_ENABLED);
    const io = await ScriptedQueue.open(served, 1);
    await io.connect({ qid: 1 }, { cntlid: 1 });
    await authenticate(io, hostSide({ secret: DhchapSecret.parse(OTHER_SECRET) }));
    served.timers.expire(CLOSE_AFTER_NS);
    expect(served.target.queues.map(({ qid }) => qid)).toEqual([0]);
    expect(await admin.property(PropertyOffset.Csts)).toBe(1);
  });

  it('closes a queue whose host takes too long', async () => {
    for (const steps of [0, 1, 2]) {
      const served = guarded();
      const queue = await connected(served);
      if (steps > 0) await sendMessage(queue, hostSide().negotiate());
      if (steps > 1) await receiveMessage(queue);
      expect(served.timers.expire(WITHIN_NS)).toBeGreaterThan(0);
      expect([served.target.queues, served.target.controllers]).toEqual([[], []]);
      expect(served.told).toEqual([[0, 0]]);
    }
  });

  it('bounds how many hosts are about to prove themselves', async () => {
    const served = guarded();
    const proven = await connected(served);
    await authenticate(proven);
    for (let i = 0; i < 63; i++) await connected(served);
    // All controllers that there may be, one of them in use.
    const more = await ScriptedQueue.open(served, 0);
    expect((await more.connect()).status & STATUS_CODE_MASK).toBe(NvmeStatus.ConnectControllerBusy);
    await expect(ScriptedQueue.open(served, 0)).rejects.toThrow(/reject/i);
    expect(await proven.property(PropertyOffset.Csts)).toBe(0);
    served.timers.expire(WITHIN_NS);
    expect(served.target.controllers).toHaveLength(1);
    expect(await authenticate(await connected(served))).toBe(0);
  });

  it('waits for signs of life from the authentication on', async () => {
    const served = guarded();
    const queue = await ScriptedQueue.open(served, 0);
    await queue.connect({ kato: KATO_MS });
    expect(served.timers.expire(KEEP_ALIVE_NS)).toBe(0);
    await authenticate(queue);
    expect(served.timers.expire(KEEP_ALIVE_NS)).toBe(1);
    expect(served.target.queues).toEqual([]);
  });

  it('closes a queue whose host negotiates again and again', async () => {
    const served = guarded({ group: DhchapGroup.Ffdhe2048 });
    const queue = await connected(served);
    for (let i = 0; i < 4; i++) expect(await sendMessage(queue, hostSide().negotiate())).toBe(0);
    await expect(sendMessage(queue, hostSide().negotiate())).rejects.toThrow('the queue pair has failed');
    expect(served.target.queues).toEqual([]);
  });

  it('takes a repetition on a live queue, with new secrets from then on', async () => {
    const served = guarded();
    const queue = await connected(served);
    for (const transaction of [1, 2, 2]) expect(await authenticate(queue, hostSide({}, transaction))).toBe(0);
    served.subsystem.setHost({ ...ACCESS, secret: OTHER_SECRET });
    expect(await queue.property(PropertyOffset.Csts)).toBe(0);
    expect(await authenticate(queue, hostSide({ secret: DhchapSecret.parse(OTHER_SECRET) }, 3))).toBe(0);
    expect(await queue.property(PropertyOffset.Csts)).toBe(0);
    expect(await authenticate(queue, hostSide({}, 4))).toBe(AuthenticationFailure.Failed);
    expect(await queue.property(PropertyOffset.Csts)).toBe(-1);
  });

  it('forgets a repetition that is not ended, and the queue lives', async () => {
    const served = guarded();
    const queue = await connected(served);
    await authenticate(queue);
    await sendMessage(queue, hostSide().negotiate());
    expect(served.timers.expire(WITHIN_NS)).toBeGreaterThan(0);
    expect(await queue.property(PropertyOffset.Csts)).toBe(0);
    expect(await authenticate(queue)).toBe(0);
  });

  it('ends the I/O queues at once when the admin queue fails at its repetition', async () => {
    const served = guarded();
    const admin = await connected(served);
    await authenticate(admin);
    await admin.setProperty(PropertyOffset.Cc, CC_ENABLED);
    const io = await ScriptedQueue.open(served, 1);
    await io.connect({ qid: 1 }, { cntlid: 1 });
    await authenticate(io);
    await authenticate(admin, hostSide({ secret: DhchapSecret.parse(OTHER_SECRET) }));
    expect(served.target.queues.map(({ qid }) => qid)).toEqual([0]);
  });

  it('does not let a host pass again whose secret was taken away', async () => {
    const served = guarded();
    const queue = await connected(served);
    await authenticate(queue);
    expect([served.subsystem.removeHost(HOST_NQN), served.subsystem.removeHost(HOST_NQN)]).toEqual([true, false]);
    expect(await authenticate(queue)).toBe(AuthenticationFailure.Failed);
    const next = await ScriptedQueue.open(served, 0);
    expect((await next.connect()).status & STATUS_CODE_MASK).toBe(NvmeStatus.ConnectInvalidHost);
  });

  it.each<[string, object]>([
    ['another security protocol', { secp: 0 }],
    ['other specific bytes', { spsp0: 0 }],
    ['other specific bytes', { spsp1: 2 }],
    ['no length', { length: 0 }],
    ['a length beyond all messages', { length: AUTH_MAX_BYTES + 1 }],
  ])('refuses a command with %s', async (_, values) => {
    const queue = await connected(guarded());
    for (const type of [FabricsType.AuthenticationSend, FabricsType.AuthenticationReceive]) {
      const command = queue.command(FABRICS_OPCODE, type);
      command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length: 72, ...values });
      expect(await statusOf(queue, queue.withData(command, 72))).toBe(NvmeStatus.InvalidField | STATUS_DNR);
    }
    expect(await authenticate(queue)).toBe(0);
  });

  it('refuses a Receive whose data is too short for the message, and gives it to the next', async () => {
    const queue = await connected(guarded());
    const host = hostSide();
    await sendMessage(queue, host.negotiate());
    const command = queue.command(FABRICS_OPCODE, FabricsType.AuthenticationReceive);
    command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length: 47 });
    expect(await statusOf(queue, queue.withData(command, 47))).toBe(NvmeStatus.InvalidField | STATUS_DNR);
    expect((await host.challenged(await receiveMessage(queue))).failure).toBeUndefined();
  });

  it('does one command at a time', async () => {
    const queue = await connected(guarded({ group: DhchapGroup.Ffdhe2048 }));
    const message = hostSide().negotiate();
    for (let i = 0; i < 4; i++) {
      const command = queue.command(FABRICS_OPCODE, FabricsType.AuthenticationSend);
      command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length: message.length });
      queue.memory.bytes.set(message);
      queue.post(queue.withData(command, message.length));
    }
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await queue.answer())?.status);
    for (const status of statuses) expect([0, NvmeStatus.CommandSequenceError | STATUS_DNR]).toContain(status);
    expect(await authenticate(queue)).toBe(0);
  });

  it('answers a message of no sense with AUTH_Failure1', async () => {
    for (const length of [1, 5, 6, 71, 73, 4096, AUTH_MAX_BYTES]) {
      const queue = await connected(guarded());
      expect(await sendMessage(queue, new Uint8Array(length))).toBe(0);
      const failure = AUTH_FAILURE.read(await receiveMessage(queue));
      expect(failure).toMatchObject({
        id: AuthenticationId.Failure1,
        reason: 1,
        explanation: AuthenticationFailure.IncorrectPayload,
      });
    }
  });
});

describe('the hosts of a subsystem', () => {
  it('keep out who is none of them', async () => {
    const served = guarded();
    const queue = await ScriptedQueue.open(served, 0);
    const { status } = await queue.connect({}, { hostnqn: 'nqn.2026-11.example:other' });
    expect(status & STATUS_CODE_MASK).toBe(NvmeStatus.ConnectInvalidHost);
  });

  it('may have one that needs no secret', async () => {
    const allowedHosts = ['nqn.2026-11.example:other'];
    const served = serve({}, { hosts: [ACCESS], allowedHosts, crypto: nvmeCrypto });
    const queue = await ScriptedQueue.open(served, 0);
    const { status, dw0 } = await queue.connect({}, { hostnqn: 'nqn.2026-11.example:other' });
    expect([status, CONNECT_RESULT.ofNumber(dw0).authRequired]).toEqual([0, false]);
    expect(await queue.property(PropertyOffset.Csts)).toBe(0);
    expect(await sendMessage(queue, hostSide().negotiate())).toBe(NvmeStatus.InvalidOpcode | STATUS_DNR);
  });

  it.each<[string, Partial<HostAccess>, object, RegExp]>([
    ['without cryptography', {}, { crypto: undefined }, /nvmeCrypto/],
    ['with a secret that is none', { secret: 'DHHC-1:00:abcd:' }, {}, /secret has a key/],
    ['with a second secret that is none', { controllerSecret: secretText(1).slice(1) }, {}, /has the form/],
    ['with a hash function that there is not', { hash: 4 }, {}, /hash function 4/],
    ['with a group that there is not', { group: 6 }, {}, /group 6/],
  ])('are refused %s', (_, access, options, message) => {
    const make = () =>
      new NvmeSubsystem({ nqn: NQN, hosts: [{ ...ACCESS, ...access }], crypto: nvmeCrypto, ...options });
    expect(make).toThrow(message);
  });
});

async function statusOf(queue: ScriptedQueue, command: Parameters<ScriptedQueue['send']>[0]): Promise<number> {
  return (await queue.send(command)).status;
}

function property(queue: ScriptedQueue, type: number): Promise<number> {
  const command = queue.command(FABRICS_OPCODE, type);
  command.setArguments(PROPERTY, { offset: PropertyOffset.Cc, value: 1n });
  return statusOf(queue, command);
}
