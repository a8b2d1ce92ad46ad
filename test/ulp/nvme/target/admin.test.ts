/** Admission, the admin queue and the life of a controller, told by a scripted host. */
import { describe, expect, it } from 'vitest';
import { attachDevice, ConnectionRejected, World } from '../../../../src/index.ts';
import {
  ABORT,
  AdminOpcode,
  AnaState,
  ASYNC_EVENT,
  AsyncNotice,
  blockBytesOf,
  CM_REJECT,
  CM_REQUEST,
  CmRejectStatus,
  CONNECT_REFUSAL,
  ConnectOffset,
  DISCOVERY_NQN,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  GET_LOG_PAGE,
  IDENTIFY_CONTROLLER,
  IDENTIFY_NAMESPACE,
  IdentifyCns,
  LogPage,
  NvmeStatus,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  readAnaLog,
  readDiscoveryLog,
  readNamespaceDescriptors,
  readNamespaceList,
  SMART_LOG,
  STATUS_DNR,
  setBlocks,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { NvmeSubsystem, NvmeTarget } from '../../../../src/ulp/nvme/index.ts';
import { connectAdmin, connectHost, DISK_BYTES, HOST_NQN, ManualTimers, NQN, ScriptedQueue, serve } from './support.ts';

const CSTS_READY = 1;

/** A whole log page. */
async function logPage(admin: ScriptedQueue, lid: number, bytes: number, lpo = 0): Promise<Uint8Array | number> {
  const command = admin.command(AdminOpcode.GetLogPage);
  command.setArguments(GET_LOG_PAGE, { lid, numd: bytes / 4 - 1, lpo: BigInt(lpo) });
  const { status } = await admin.send(admin.withData(command, bytes));
  return status === 0 ? admin.memory.bytes.slice(0, bytes) : status;
}

async function setFeature(admin: ScriptedQueue, fid: number, value: number): Promise<readonly [number, number]> {
  const command = admin.command(AdminOpcode.SetFeatures);
  command.setArguments(FEATURES, { fid, value });
  const { status, dw0 } = await admin.send(command);
  return [status, dw0];
}

describe('a request for a queue', () => {
  it.each([
    ['another format', { recfmt: 1 }, CmRejectStatus.InvalidRecordFormat],
    ['a queue beyond those that are granted', { qid: 9 }, CmRejectStatus.InvalidQueueId],
    ['no entries', { hsqsize: 0 }, CmRejectStatus.InvalidHostSqSize],
    ['too many entries', { hsqsize: 128, hrqsize: 200 }, CmRejectStatus.InvalidHostSqSize],
    ['fewer receives than commands', { hrqsize: 8 }, CmRejectStatus.InvalidHostRqSize],
  ])('is rejected for %s', async (_, wrong, sts) => {
    const served = serve();
    const asked = CM_REQUEST.encode({ qid: 0, hrqsize: 32, hsqsize: 31, ...wrong });
    const failure = await ScriptedQueue.open(served, 0, 32, asked).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionRejected);
    if (failure instanceof ConnectionRejected) expect(CM_REJECT.read(failure.privateData)?.sts).toBe(sts);
    expect(served.target.queues).toEqual([]);
    expect(served.target.counters.connectionsRefused).toBe(1);
  });

  it('is rejected when too many are open that no Connect came to; in time they are closed', async () => {
    const served = serve();
    for (let i = 0; i < 64; i++) await ScriptedQueue.open(served, 0);
    await expect(ScriptedQueue.open(served, 0)).rejects.toThrow(ConnectionRejected);
    expect(served.timers.expire(30e9)).toBe(64);
    expect(served.target.queues).toEqual([]);
    await connectAdmin(served);
  });

  it('keeps no memory when its queue is gone, or has connected: nothing waits for a Connect then', async () => {
    const served = serve();
    const queue = await ScriptedQueue.open(served, 0);
    await served.world.run(queue.connection.disconnect());
    await connectAdmin(served);
    expect(served.timers.expire(30e9)).toBe(0);
    expect(served.target.queues).toHaveLength(1);
  });

  it('of one host finds room however many another one holds open', async () => {
    const served = serve();
    for (let i = 0; i < 64; i++) await ScriptedQueue.open(served, 0);
    const other = attachDevice(served.world, 'another host', { addresses: ['10.0.0.3/24'], mtu: 4200 });
    const admin = await connectAdmin({ a: other, world: served.world });
    expect(await admin.property(PropertyOffset.Csts)).toBe(CSTS_READY);
    expect(served.target.queues).toHaveLength(64);
  });

  it('leaves nothing behind where the device has no memory for its capsules', async () => {
    const world = new World({ seed: 1 });
    const a = attachDevice(world, 'host', { addresses: ['10.0.0.1/24'], mtu: 4200 });
    const b = attachDevice(world, 'full', { addresses: ['10.0.0.2/24'], mtu: 4200, limits: { maxMr: 0 } });
    const timers = new ManualTimers();
    const target = NvmeTarget.listen(b, { subsystems: [new NvmeSubsystem({ nqn: NQN })], timers });
    const before = b.tables();
    await expect(ScriptedQueue.open({ a, world }, 0)).rejects.toThrow(ConnectionRejected);
    world.runFor(100e6);
    const { queuePairs, completionQueues } = b.tables();
    expect({ queuePairs, completionQueues }).toEqual({
      ...{ queuePairs: before.queuePairs, completionQueues: before.completionQueues },
    });
    expect(target.queues).toEqual([]);
  });
});

describe('Connect', () => {
  it.each([
    ['another format', { recfmt: 1 }, {}, NvmeStatus.ConnectIncompatibleFormat, undefined],
    [
      'another queue than that of the request',
      { qid: 1 },
      {},
      NvmeStatus.ConnectInvalidParameters,
      [ConnectOffset.Qid, false],
    ],
    ['more entries', { sqsize: 32 }, {}, NvmeStatus.ConnectInvalidParameters, [ConnectOffset.Sqsize, false]],
    [
      'no such subsystem',
      {},
      { subnqn: 'nqn.2026-11.example:x' },
      NvmeStatus.ConnectInvalidParameters,
      [ConnectOffset.Subnqn, true],
    ],
    ['no name', {}, { hostnqn: '' }, NvmeStatus.ConnectInvalidParameters, [ConnectOffset.Hostnqn, true]],
    [
      'a controller that it chooses',
      {},
      { cntlid: 1 },
      NvmeStatus.ConnectInvalidParameters,
      [ConnectOffset.Cntlid, true],
    ],
    [
      'a host that is not allowed',
      {},
      { hostnqn: `${HOST_NQN}2` },
      NvmeStatus.ConnectInvalidHost,
      [ConnectOffset.Hostnqn, true],
    ],
  ] as const)('is refused for %s', async (_, command, data, status, where) => {
    const served = serve({}, { allowedHosts: [HOST_NQN] });
    const admin = await ScriptedQueue.open(served, 0);
    const answer = await admin.connect(command, data);
    expect(answer.status).toBe(status | STATUS_DNR);
    if (where !== undefined) {
      const { ipo, inData } = CONNECT_REFUSAL.ofNumber(answer.dw0);
      expect([ipo, inData]).toEqual(where);
    }
    expect(served.target.controllers).toEqual([]);
  });

  it('says how many entries the submission queue has, at which its head wraps', async () => {
    const served = serve();
    const admin = await ScriptedQueue.open(served, 0, 32);
    const heads = [(await admin.connect({ sqsize: 3 })).sqhd];
    for (let i = 0; i < 5; i++) {
      const get = admin.command(FABRICS_OPCODE, FabricsType.PropertyGet);
      get.setArguments(PROPERTY, { offset: PropertyOffset.Csts });
      heads.push((await admin.send(get)).sqhd);
    }
    expect(heads).toEqual([1, 2, 3, 0, 1, 2]);
  });

  it('comes first, and once', async () => {
    const served = serve();
    const admin = await ScriptedQueue.open(served, 0);
    const early = await admin.send(admin.withData(admin.command(AdminOpcode.Identify), 4096));
    expect(early.status).toBe(NvmeStatus.CommandSequenceError | STATUS_DNR);
    expect(await admin.property(PropertyOffset.Cap)).toBe(-1);
    expect((await admin.connect()).status).toBe(0);
    expect((await admin.connect()).status).toBe(NvmeStatus.CommandSequenceError | STATUS_DNR);
  });

  it('of an I/O queue wants a ready controller of this host, and a queue that there is not', async () => {
    const served = serve();
    const admin = await connectAdmin(served);
    const io = await ScriptedQueue.open(served, 1);
    const refused = async (data: Parameters<ScriptedQueue['connect']>[1]): Promise<number> =>
      (await io.connect({ qid: 1 }, data)).status & ~STATUS_DNR;
    expect(await refused({ cntlid: 2 })).toBe(NvmeStatus.ConnectInvalidParameters);
    expect(await refused({ cntlid: 1, hostid: new Uint8Array(16) })).toBe(NvmeStatus.ConnectInvalidParameters);
    expect(await refused({ cntlid: 1, hostnqn: `${HOST_NQN}2` })).toBe(NvmeStatus.ConnectInvalidParameters);
    expect((await io.connect({ qid: 1 }, { cntlid: 1 })).status).toBe(0);
    const again = await ScriptedQueue.open(served, 1);
    expect((await again.connect({ qid: 1 }, { cntlid: 1 })).status & ~STATUS_DNR).toBe(NvmeStatus.CommandSequenceError);
    await admin.setProperty(PropertyOffset.Cc, 0);
    const late = await ScriptedQueue.open(served, 2);
    expect((await late.connect({ qid: 2 }, { cntlid: 1 })).status & ~STATUS_DNR).toBe(NvmeStatus.CommandSequenceError);
  });
});

describe('a controller', () => {
  it('is ready when it is enabled, and says when its shutdown is complete', async () => {
    const admin = await ScriptedQueue.open(serve(), 0);
    await admin.connect();
    expect(await admin.property(PropertyOffset.Csts)).toBe(0);
    const early = await admin.send(admin.withData(admin.command(AdminOpcode.Identify), 4096));
    expect(early.status).toBe(NvmeStatus.CommandSequenceError | STATUS_DNR);
    await admin.setProperty(PropertyOffset.Cc, 0x46_00_01);
    expect(await admin.property(PropertyOffset.Csts)).toBe(CSTS_READY);
    await admin.setProperty(PropertyOffset.Cc, 0x46_40_01);
    expect(await admin.property(PropertyOffset.Csts)).toBe(CSTS_READY | 0x08);
    expect(await admin.property(0x50)).toBe(-1);
    expect(await admin.setProperty(PropertyOffset.Csts, 1)).toBe(NvmeStatus.InvalidField | STATUS_DNR);
  });

  it('loses its I/O queues when it is disabled', async () => {
    const { admin, target } = await connectHost();
    await admin.setProperty(PropertyOffset.Cc, 0);
    expect(target.queues.map(({ qid }) => qid)).toEqual([0]);
  });

  it('can be enabled again after a fault, and ends the event requests that it held', async () => {
    const admin = await connectAdmin(serve());
    for (let cycle = 0; cycle < 3; cycle++) {
      const held = Array.from({ length: 4 }, () => admin.command(AdminOpcode.AsyncEventRequest));
      for (const command of held) admin.post(command);
      const disable = admin.command(FABRICS_OPCODE, FabricsType.PropertySet);
      admin.post(disable.setArguments(PROPERTY, { offset: PropertyOffset.Cc, value: 0n }));
      const ended = new Map<number, number>();
      for (let i = 0; i < 5; i++) {
        const answer = await admin.answer();
        ended.set(answer?.cid ?? -1, answer?.status ?? -1);
      }
      expect(held.map(({ cid }) => ended.get(cid))).toEqual(held.map(() => NvmeStatus.AbortRequested));
      expect(ended.get(disable.cid)).toBe(0);
      await admin.setProperty(PropertyOffset.Cc, 0x46_00_71);
      expect(await admin.property(PropertyOffset.Csts)).toBe(0x02);
      await admin.setProperty(PropertyOffset.Cc, 0);
      await admin.setProperty(PropertyOffset.Cc, 0x46_00_01);
      expect(await admin.property(PropertyOffset.Csts)).toBe(CSTS_READY);
    }
  });

  it('says what Linux insists on', async () => {
    const admin = await connectAdmin(serve());
    const { ioccsz, sglsKeyed, sglsOffset, icdoff, mdts, nn, subnqn, kas, sqes, cqes } =
      IDENTIFY_CONTROLLER.read(await admin.identify(IdentifyCns.Controller)) ?? {};
    expect({ ioccsz, sglsKeyed, sglsOffset, icdoff, mdts, nn, subnqn, kas, sqes, cqes }).toEqual({
      ioccsz: 4 + 256,
      sglsKeyed: true,
      sglsOffset: true,
      icdoff: 0,
      mdts: 8,
      nn: 1024,
      subnqn: NQN,
      kas: 10,
      sqes: 0x66,
      cqes: 0x44,
    });
    const mqes = (await admin.property(PropertyOffset.Cap)) & 0xff_ff;
    expect(mqes).toBe(127);
  });

  it('lists its namespaces, and says what each is', async () => {
    const { admin, subsystem } = await connectHost();
    expect(readNamespaceList(await admin.identify(IdentifyCns.ActiveNamespaces))).toEqual([1]);
    expect(readNamespaceList(await admin.identify(IdentifyCns.ActiveNamespaces, 1))).toEqual([]);
    const namespace = IDENTIFY_NAMESPACE.read(await admin.identify(IdentifyCns.Namespace, 1));
    expect(namespace?.nsze).toBe(BigInt(DISK_BYTES / 512));
    expect(namespace && blockBytesOf(namespace)).toBe(512);
    const [descriptor] = readNamespaceDescriptors(await admin.identify(IdentifyCns.NamespaceDescriptors, 1));
    expect(descriptor).toEqual({ type: 3, id: subsystem.namespace(1)?.uuid });
    // Not active: zeros. Beyond all that there can be: refused.
    expect(IDENTIFY_NAMESPACE.read(await admin.identify(IdentifyCns.Namespace, 9))?.nsze).toBe(0n);
    await expect(admin.identify(IdentifyCns.Namespace, 5000)).rejects.toThrow('status 400b');
    await expect(admin.identify(0xee)).rejects.toThrow('status 4002');
  });

  it('grants its I/O queues, and keeps values of features', async () => {
    const admin = await connectAdmin(serve({ maxQueues: 4 }));
    expect(await setFeature(admin, Feature.NumberOfQueues, 0x00_1f_00_1f)).toEqual([0, 0x00_03_00_03]);
    expect(await setFeature(admin, Feature.AsyncEventConfiguration, 0x1_00)).toEqual([0, 0]);
    const get = admin.command(AdminOpcode.GetFeatures);
    get.setArguments(FEATURES, { fid: Feature.AsyncEventConfiguration });
    expect((await admin.send(get)).dw0).toBe(0x1_00);
    expect((await setFeature(admin, 0xc0, 1))[0]).toBe(NvmeStatus.InvalidField | STATUS_DNR);
  });

  it('has the log pages SMART and errors, and refuses others and offsets behind the end', async () => {
    const { admin, io } = await connectHost();
    await io.send(io.command(NvmOpcode.Flush, 9));
    for (const opcode of [NvmOpcode.Read, NvmOpcode.Compare, NvmOpcode.Write, NvmOpcode.Verify]) {
      const command = io.command(opcode);
      setBlocks(command, opcode, 1, 0, 1);
      expect((await io.send(io.withData(command, 512))).status).toBe(0);
    }
    const smart = await logPage(admin, LogPage.Smart, 512);
    if (typeof smart === 'number') throw new Error(`status ${smart}`);
    const { errorLogEntries, hostReads, hostWrites } = SMART_LOG.read(smart) ?? {};
    // Of reads there are two: a Compare is one, too.
    expect([errorLogEntries, hostReads, hostWrites]).toEqual([1n, 2n, 1n]);
    expect(await logPage(admin, 0xee, 512)).toBe(NvmeStatus.InvalidLogPage | STATUS_DNR);
    expect(await logPage(admin, LogPage.Smart, 512, 1024)).toBe(NvmeStatus.InvalidField | STATUS_DNR);
    expect(await logPage(admin, LogPage.Ana, 64)).toBe(NvmeStatus.InvalidLogPage | STATUS_DNR);
  });

  it('refuses Authentication, and Abort says that nothing was aborted', async () => {
    const admin = await connectAdmin(serve());
    const authentication = admin.command(FABRICS_OPCODE, FabricsType.AuthenticationSend);
    expect((await admin.send(authentication)).status).toBe(NvmeStatus.InvalidOpcode | STATUS_DNR);
    const abort = admin.command(AdminOpcode.Abort).setArguments(ABORT, { sqid: 1, cid: 77 });
    expect((await admin.send(abort)).dw0).toBe(1);
  });
});

describe('events', () => {
  it('tell of namespaces that come, once until their log page is read', async () => {
    const { admin, subsystem, disk, world } = await connectHost();
    await setFeature(admin, Feature.AsyncEventConfiguration, 0x1_00);
    const post = (): void => admin.post(admin.command(AdminOpcode.AsyncEventRequest));
    post();
    await world.run(world.sleep(1e8));
    expect(admin.answers).toBe(0);
    subsystem.addNamespace({ nsid: 5, backend: disk, uuid: new Uint8Array(16).fill(9) });
    const answer = await admin.answer();
    const event = ASYNC_EVENT.ofNumber(answer?.dw0 ?? 0);
    expect([event.type, event.info, event.logPage]).toEqual([2, AsyncNotice.NamespaceAttribute, 4]);
    post();
    subsystem.removeNamespace(5);
    await world.run(world.sleep(1e8));
    expect(admin.answers).toBe(0);
    const command = admin.command(AdminOpcode.GetLogPage);
    command.setArguments(GET_LOG_PAGE, { lid: LogPage.ChangedNamespaces, numd: 1023 });
    admin.post(admin.withData(command, 4096));
    const statuses = [(await admin.answer())?.status, (await admin.answer())?.status];
    expect(statuses).toEqual([0, 0]);
    expect(readNamespaceList(admin.memory.bytes.slice(0, 4096))).toEqual([5]);
  });

  it('are not reported to a host that has not asked for them', async () => {
    const { admin, subsystem, world } = await connectHost();
    admin.post(admin.command(AdminOpcode.AsyncEventRequest));
    subsystem.resized(1);
    await world.run(world.sleep(1e8));
    expect(admin.answers).toBe(0);
  });

  it('a fifth request is refused, and Abort ends one that waits', async () => {
    const admin = await connectAdmin(serve());
    const held = Array.from({ length: 4 }, () => admin.command(AdminOpcode.AsyncEventRequest));
    for (const command of held) admin.post(command);
    const fifth = await admin.send(admin.command(AdminOpcode.AsyncEventRequest));
    expect(fifth.status).toBe(NvmeStatus.AsyncEventLimitExceeded | STATUS_DNR);
    const cid = held[2]?.cid ?? -1;
    admin.post(admin.command(AdminOpcode.Abort).setArguments(ABORT, { sqid: 0, cid }));
    const answers = [await admin.answer(), await admin.answer()];
    expect(answers.find((answer) => answer?.cid === cid)?.status).toBe(NvmeStatus.AbortRequested);
    expect(answers.find((answer) => answer?.cid !== cid)?.dw0).toBe(0);
  });

  it('has an ANA page of its largest size, which nvme-cli reads in pieces of 4 KiB', async () => {
    const { admin } = await connectHost({}, { ana: true });
    // Header, one group, and room for as many namespaces as there can be.
    const bytes = 16 + 32 + 4 * 1024;
    const get = admin.command(AdminOpcode.GetLogPage);
    get.setArguments(GET_LOG_PAGE, { lid: LogPage.Ana, lpo: 4096n, numd: (bytes - 4096) / 4 - 1 });
    admin.memory.bytes.fill(0xff);
    expect((await admin.send(admin.withData(get, bytes - 4096))).status).toBe(0);
    expect(admin.memory.bytes.subarray(0, bytes - 4096).every((byte) => byte === 0)).toBe(true);
  });

  it('tell of ANA, whose log page has the state of the port', async () => {
    const { admin, subsystem } = await connectHost({ portId: 2 }, { ana: true });
    await setFeature(admin, Feature.AsyncEventConfiguration, 0x8_00);
    admin.post(admin.command(AdminOpcode.AsyncEventRequest));
    subsystem.setAnaState(2, AnaState.Inaccessible);
    expect(ASYNC_EVENT.ofNumber((await admin.answer())?.dw0 ?? 0).info).toBe(AsyncNotice.AnaChange);
    const page = await logPage(admin, LogPage.Ana, 4096);
    const groups = typeof page === 'number' ? page : readAnaLog(page)?.groups;
    expect(groups).toEqual([{ grpid: 1, chgcnt: 1n, state: AnaState.Inaccessible, nsids: [1] }]);
  });
});

it('discovery tells a host of the subsystems that it may use, at the address that it used', async () => {
  const served = serve({}, { allowedHosts: [HOST_NQN] });
  const page = async (hostnqn: string): Promise<unknown> => {
    const admin = await ScriptedQueue.open(served, 0);
    await admin.connect({}, { subnqn: DISCOVERY_NQN, hostnqn });
    await admin.setProperty(PropertyOffset.Cc, 0x46_00_01);
    const log = await logPage(admin, LogPage.Discovery, 2048);
    return typeof log === 'number'
      ? log
      : readDiscoveryLog(log)?.entries.map(({ subnqn, traddr, trsvcid }) => [subnqn, traddr, trsvcid]);
  };
  expect(await page(HOST_NQN)).toEqual([[NQN, '10.0.0.2', '4420']]);
  expect(await page(`${HOST_NQN}2`)).toEqual([]);
});
