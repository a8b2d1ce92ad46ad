// Goal: our host proves itself where it has to, trusts no controller that does not, and says what is wrong.
// Method: our own target with secrets, and a scripted one that demands authentication and then does as it likes.
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import {
  AuthenticationFailure,
  connectNvme,
  DhchapGroup,
  DhchapHash,
  FABRICS_OPCODE,
  FabricsType,
  type HostAccess,
  MemoryBackend,
  NvmeAuthenticationError,
  type NvmeConnectOptions,
  NvmeError,
  NvmeStatus,
  NvmeSubsystem,
  NvmeTarget,
  STATUS_DNR,
  type TargetObserver,
} from '../../../../src/ulp/nvme/index.ts';
import { makePair } from '../../../device/support.ts';
import { CONTROLLER_SECRET, HOST_SECRET, OTHER_SECRET, secretText } from '../auth/support.ts';
import { gate } from '../target/support.ts';
import { HOST, makeRig, NQN, pattern, timersOf } from './support.ts';

const SECRETS = { hostSecret: HOST_SECRET, controllerSecret: CONTROLLER_SECRET, crypto: nvmeCrypto };

function guarded(access: Partial<HostAccess> | undefined = {}) {
  const pair = makePair();
  const timers = timersOf(pair.world);
  const host = { nqn: HOST.hostnqn, secret: HOST_SECRET, controllerSecret: CONTROLLER_SECRET, ...access };
  const subsystem = new NvmeSubsystem({ nqn: NQN, hosts: [host], crypto: nvmeCrypto });
  const disk = new MemoryBackend(1 << 20);
  subsystem.addNamespace({ backend: disk, uuid: new Uint8Array(16).fill(9) });
  /** Queue and failure of each authentication. */
  const authentications: (readonly [number, number | undefined])[] = [];
  const observer: TargetObserver = {
    queueJoined: () => {},
    queueClosed: () => {},
    authenticated: (_, { qid }, failure) => authentications.push([qid, failure]),
  };
  const listen = (): NvmeTarget => NvmeTarget.listen(pair.b, { subsystems: [subsystem], timers, observer });
  const options: NvmeConnectOptions = { address: '10.0.0.2', subnqn: NQN, ...HOST, timers, reconnectDelayMs: 100 };
  const connect = (more: Partial<NvmeConnectOptions> = SECRETS) =>
    pair.world.run(connectNvme(pair.a, { ...options, ...more }));
  return { ...pair, subsystem, disk, authentications, target: listen(), listen, connect };
}

describe('our host and our target with secrets', () => {
  it.each<[string, Partial<HostAccess>]>([
    ['SHA-256 without group', {}],
    ['SHA-512 and 2048 bits', { hash: DhchapHash.Sha512, group: DhchapGroup.Ffdhe2048 }],
  ])('authenticate each other on every queue, with %s', async (_, access) => {
    const rig = guarded(access);
    const controller = await rig.connect({ ...SECRETS, queues: 3 });
    expect(controller.queues).toBe(3);
    const disk = await rig.world.run(controller.namespace(1));
    const data = pattern(1024, 5);
    await rig.world.run(disk.write(1, data));
    const back = new Uint8Array(1024);
    await rig.world.run(disk.read(1, back));
    expect(back).toEqual(data);
    await rig.world.run(controller.close());
    expect(rig.a.qpCount).toBe(0);
  });

  it('do it again after the connection was lost', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    const write = disk.write(0, pattern(512));
    await rig.world.run(rig.target.close());
    rig.listen();
    await rig.world.run(write);
    expect(controller.reconnects).toBe(1);
    await rig.world.run(controller.close());
  });

  it('give up for good when the secrets were changed meanwhile', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.subsystem.setHost({ nqn: HOST.hostnqn, secret: OTHER_SECRET });
    await rig.world.run(rig.target.close());
    rig.listen();
    await expect(rig.world.run(disk.flush())).rejects.toThrow(
      'the controller refuses this host: authentication failed',
    );
    expect(controller.state).toBe('closed');
  });

  it.each<[string, Partial<NvmeConnectOptions>, RegExp, number]>([
    ['no secret', { crypto: nvmeCrypto }, /demands authentication, and there is no hostSecret/, 0],
    ['another secret', { hostSecret: OTHER_SECRET, crypto: nvmeCrypto }, /refuses this host: authentication failed/, 1],
    [
      'another secret for the controller',
      { ...SECRETS, controllerSecret: OTHER_SECRET },
      /controller is not trusted: authentication failed/,
      AuthenticationFailure.Failed,
    ],
  ])('do not connect when the host has %s, and nothing is left', async (_, options, message, failure) => {
    const rig = guarded();
    const refused = await rig.connect(options).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NvmeAuthenticationError);
    expect(refused).toMatchObject({ code: 'ERR_ROCE_REJECTED', failure, message: expect.stringMatching(message) });
    expect(rig.a.qpCount).toBe(0);
    for (const secret of [HOST_SECRET, CONTROLLER_SECRET, OTHER_SECRET])
      expect(String(refused)).not.toContain(secret.slice(10, 20));
    // The target lives.
    const controller = await rig.connect();
    await rig.world.run(controller.close());
  });

  it('do not connect when the target cannot prove itself', async () => {
    const rig = guarded({ controllerSecret: undefined } as unknown as Partial<HostAccess>);
    await expect(rig.connect()).rejects.toThrow('the controller refuses this host: authentication failed');
    const controller = await rig.connect({ hostSecret: HOST_SECRET, crypto: nvmeCrypto });
    await rig.world.run(controller.close());
  });
});

describe('again, on a controller in use, our host and our target', () => {
  it.each<[string, Partial<HostAccess>]>([
    ['without group', {}],
    ['with 2048 bits', { group: DhchapGroup.Ffdhe2048 }],
  ])('authenticate each other on every queue, the admin queue first, while commands go on, %s', async (_, access) => {
    const rig = guarded(access);
    const controller = await rig.connect({ ...SECRETS, queues: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    for (let round = 0; round < 2; round++) {
      rig.authentications.length = 0;
      const back = new Uint8Array(1 << 18);
      await rig.world.run(Promise.all([controller.reauthenticate(), disk.read(0, back), disk.write(0, back)]));
      expect(rig.authentications[0]).toEqual([0, undefined]);
      expect(rig.authentications.slice(1).toSorted()).toEqual([
        [1, undefined],
        [2, undefined],
      ]);
    }
    expect([controller.state, controller.reconnects]).toEqual(['live', 0]);
    await rig.world.run(controller.close());
    expect(rig.a.qpCount).toBe(0);
  });

  it('change their secrets, which hold for a reconnection, too', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.subsystem.setHost({ nqn: HOST.hostnqn, secret: OTHER_SECRET, controllerSecret: HOST_SECRET });
    await rig.world.run(controller.reauthenticate({ hostSecret: OTHER_SECRET, controllerSecret: HOST_SECRET }));
    expect(controller.reconnects).toBe(0);
    const write = disk.write(0, pattern(512));
    await rig.world.run(rig.target.close());
    rig.listen();
    await rig.world.run(write);
    expect([controller.state, controller.reconnects]).toEqual(['live', 1]);
    await rig.world.run(controller.close());
  });

  it('part when the host has a wrong secret; it comes back with the one that held', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    // The target ends the I/O queues at once, so that the reason is not heard.
    await expect(rig.world.run(controller.reauthenticate({ hostSecret: OTHER_SECRET }))).rejects.toMatchObject({
      code: 'ERR_ROCE_CLOSED',
      message: expect.stringContaining('as it may where a secret is wrong'),
    });
    expect(rig.authentications.at(-1)).toEqual([0, AuthenticationFailure.Failed]);
    expect(controller.state).toBe('reconnecting');
    await rig.world.run(disk.flush());
    expect([controller.state, controller.reconnects]).toEqual(['live', 1]);
    await rig.world.run(controller.close());
  });

  it('part for good when the controller does not prove itself any more', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.subsystem.setHost({ nqn: HOST.hostnqn, secret: HOST_SECRET, controllerSecret: OTHER_SECRET });
    await expect(rig.world.run(controller.reauthenticate())).rejects.toThrow('the controller is not trusted');
    await expect(rig.world.run(disk.flush())).rejects.toThrow('the controller is not trusted');
    expect(controller.state).toBe('closed');
  });

  it('wait for a slot of a queue that is full, and go before the commands that wait', async () => {
    const rig = guarded();
    const { passed, open } = gate();
    const order: string[] = [];
    const { read } = rig.disk;
    Object.assign(rig.disk, {
      read: (...given: Parameters<typeof read>) => passed.then(() => read.apply(rig.disk, given)),
    });
    const controller = await rig.connect({ ...SECRETS, queueSize: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    const reads = [0, 1].map((lba) => disk.read(lba, new Uint8Array(512)).then(() => order.push(`read ${lba}`)));
    const proof = controller.reauthenticate().then(() => order.push('proof'));
    await rig.world.run(rig.world.sleep(1e9));
    expect(order).toEqual([]);
    open();
    await rig.world.run(Promise.all([...reads, proof]));
    expect(order[0]).toBe('read 0');
    expect(rig.authentications).toHaveLength(4);
    await rig.world.run(controller.close());
  });

  it('wait for no slot any more when the connection is lost', async () => {
    const rig = guarded();
    const { passed, open } = gate();
    const { read } = rig.disk;
    Object.assign(rig.disk, {
      read: (...given: Parameters<typeof read>) => passed.then(() => read.apply(rig.disk, given)),
    });
    const controller = await rig.connect({ ...SECRETS, queueSize: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    const reading = disk.read(0, new Uint8Array(512));
    const proof = controller.reauthenticate().catch((error: unknown) => error);
    await rig.world.run(rig.world.sleep(1e9));
    await rig.world.run(rig.target.close());
    rig.listen();
    expect(await rig.world.run(proof)).toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    open();
    await rig.world.run(reading);
    await rig.world.run(controller.close());
  });

  it('do it one after the other when it is asked for twice', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    await rig.world.run(Promise.all([controller.reauthenticate(), controller.reauthenticate()]));
    expect(rig.authentications.map(([qid]) => qid)).toEqual([0, 1, 0, 1, 0, 1]);
    await rig.world.run(controller.close());
  });

  it('are interrupted by a loss of the connection; nothing of it is sent again on the next', async () => {
    const rig = guarded();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    const proof = controller.reauthenticate().catch((error: unknown) => error);
    await rig.world.run(rig.target.close());
    rig.listen();
    expect(await rig.world.run(proof)).toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    await rig.world.run(disk.flush());
    expect([controller.state, controller.reconnects, controller.replayed]).toEqual(['live', 1, 0]);
    await rig.world.run(controller.close());
  });
});

describe('our host', () => {
  it('has nothing to prove again without a secret, nor to whom when it is closed', async () => {
    const { connect, world } = makeRig();
    const controller = await connect();
    await expect(controller.reauthenticate()).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    const hostSecret = HOST_SECRET;
    await expect(controller.reauthenticate({ hostSecret })).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    await world.run(controller.close());
    const all = { hostSecret, crypto: nvmeCrypto };
    await expect(controller.reauthenticate(all)).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
  });

  it('stays connected with a controller that knows no authentication, unless it has to prove itself', async () => {
    const { connect, world } = makeRig({
      script: ({ command }) =>
        command.opcode === FABRICS_OPCODE && command.fabricsType === FabricsType.AuthenticationSend
          ? NvmeStatus.InvalidOpcode | STATUS_DNR
          : 'serve',
    });
    const controller = await connect({ hostSecret: HOST_SECRET, crypto: nvmeCrypto });
    await expect(world.run(controller.reauthenticate())).rejects.toThrow(NvmeError);
    expect(controller.state).toBe('live');
    await expect(world.run(controller.reauthenticate({ controllerSecret: CONTROLLER_SECRET }))).rejects.toThrow(
      'gives no proof',
    );
    expect(controller.state).toBe('reconnecting');
    await world.run(controller.close());
  });

  it('gives up after its timeout where a queue in use does not answer, and uses no other queue', async () => {
    let drops = true;
    const asked: number[] = [];
    const { connect, world } = makeRig({
      script: ({ command, qid }) => {
        if (command.opcode !== FABRICS_OPCODE || command.fabricsType !== FabricsType.AuthenticationSend) return 'serve';
        asked.push(qid);
        return drops ? 'drop' : 'serve';
      },
    });
    const controller = await connect({ hostSecret: HOST_SECRET, crypto: nvmeCrypto, commandTimeoutMs: 2000 });
    await world.run(world.sleep(10e9));
    const late = await world.run(controller.reauthenticate().catch((error: unknown) => error));
    const message = 'the controller does not end the authentication of queue 0';
    expect(late).toMatchObject({ code: 'ERR_ROCE_TIMEOUT', message });
    drops = false;
    await world.run(world.sleep(5e9));
    expect([controller.state, controller.reconnects, asked]).toEqual(['live', 1, [0]]);
    await world.run(controller.close());
  });

  it('asks for a proof where none of its own is demanded, and trusts no controller without', async () => {
    const { connect } = makeRig({
      script: ({ command }) =>
        command.opcode === FABRICS_OPCODE && command.fabricsType === FabricsType.AuthenticationSend
          ? NvmeStatus.InvalidOpcode | STATUS_DNR
          : 'serve',
    });
    const refused = await connect(SECRETS).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NvmeAuthenticationError);
    expect(refused).toMatchObject({ message: expect.stringContaining('gives no proof of controllerSecret') });
  });

  it('asks for none without controllerSecret', async () => {
    const asked: number[] = [];
    const { connect, world } = makeRig({
      script: ({ command, qid }) => {
        if (command.opcode === FABRICS_OPCODE && command.fabricsType === FabricsType.AuthenticationSend) {
          asked.push(qid);
          return NvmeStatus.InvalidOpcode | STATUS_DNR;
        }
        return 'serve';
      },
    });
    const controller = await connect({ hostSecret: HOST_SECRET, crypto: nvmeCrypto });
    await world.run(controller.close());
    expect(asked).toEqual([]);
    await expect(connect(SECRETS)).rejects.toThrow('gives no proof');
    expect(asked).toEqual([0]);
  });

  it('connects with a secret that nobody asks for', async () => {
    const { connect, world } = makeRig();
    const controller = await connect({ hostSecret: HOST_SECRET, crypto: nvmeCrypto });
    await world.run(controller.close());
  });

  it('has no secure channel', async () => {
    const { connect } = makeRig({ connectResult: { secureChannelRequired: true } });
    await expect(connect(SECRETS)).rejects.toMatchObject({ code: 'ERR_ROCE_UNSUPPORTED' });
  });

  it.each([
    ['Send', FabricsType.AuthenticationSend],
    ['Receive', FabricsType.AuthenticationReceive],
  ])('does not wait for ever for an Authentication %s', async (_, type) => {
    const { connect, a } = makeRig({
      connectResult: { authRequired: true },
      script: ({ command }) => {
        if (command.opcode !== FABRICS_OPCODE || command.fabricsType === FabricsType.Connect) return 'serve';
        return command.fabricsType === type ? 'drop' : 0;
      },
    });
    await expect(connect(SECRETS)).rejects.toMatchObject({
      code: 'ERR_ROCE_TIMEOUT',
      message: 'the controller does not end the authentication of queue 0',
    });
    expect(a.qpCount).toBe(0);
  });

  it('says which command a controller refuses', async () => {
    const { connect, a } = makeRig({
      connectResult: { authRequired: true },
      script: ({ command }) =>
        command.opcode === FABRICS_OPCODE && command.fabricsType === FabricsType.AuthenticationSend
          ? NvmeStatus.InvalidOpcode | STATUS_DNR
          : 'serve',
    });
    const refused = await connect(SECRETS).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NvmeError);
    expect(refused).toMatchObject({ message: expect.stringContaining('Authentication Send') });
    expect(a.qpCount).toBe(0);
  });

  it('takes no zeros for a challenge', async () => {
    const { connect, a } = makeRig({
      connectResult: { authRequired: true },
      script: ({ command }) =>
        command.opcode === FABRICS_OPCODE && command.fabricsType !== FabricsType.Connect ? 0 : 'serve',
    });
    await expect(connect(SECRETS)).rejects.toThrow('the controller is not trusted: incorrect protocol message');
    expect(a.qpCount).toBe(0);
  });

  it.each<[string, Partial<NvmeConnectOptions>, RegExp]>([
    ['without cryptography', { hostSecret: HOST_SECRET }, /nvmeCrypto/],
    ['for the controller alone', { controllerSecret: CONTROLLER_SECRET, crypto: nvmeCrypto }, /needs hostSecret/],
    ['that are none', { hostSecret: secretText(1).replace(':00:', ':09:'), crypto: nvmeCrypto }, /from 00 to 03/],
  ])('refuses secrets %s', async (_, options, message) => {
    const { connect } = makeRig();
    await expect(async () => connect(options)).rejects.toThrow(message);
  });
});
