/** A capture in which a host sends our target every command that there is, some of them to be refused. */
import { LinkType, PcapngWriter } from '../../../../pcap/index.ts';
import { encodeDsmRanges } from '../../../../src/ulp/nvme/codec/index.ts';
import {
  ABORT,
  AdminOpcode,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  GET_LOG_PAGE,
  IdentifyCns,
  LogPage,
  MemoryBackend,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  setBlocks,
  setDeallocation,
} from '../../../../src/ulp/nvme/index.ts';
import { CC_ENABLED, connectAdmin, pattern, ScriptedQueue, type Served, serve } from '../target/support.ts';

/** The bytes of a pcapng file, as the host's port sent and received it. */
export async function captureEveryCommand(): Promise<Uint8Array> {
  const writer = new PcapngWriter({ application: 'rocev2, every command of NVMe' });
  const link = writer.addInterface({ name: 'host', linkType: LinkType.Ethernet });
  const served = serve({}, { ana: true });
  served.world.network.tap = {
    frame(now, port, _, bytes, start, end) {
      if (port.name === HOST_PORT) writer.packet(link, bytes, start, end, Math.floor(now / 1e9), Math.floor(now % 1e9));
    },
  };
  const host = await connectAdmin(served, { kato: 15_000 });
  await sendAdmin(host, served);
  const io = await ScriptedQueue.open(served, 1);
  await io.connect({ qid: 1 }, { cntlid: 1 });
  await sendIo(io);
  await refuse(host, io, served);
  // Counters that are not 0.
  for (const page of [LogPage.Smart, LogPage.Error]) await getLog(host, page, 512);
  // The last with data: its key is gone then.
  await blocks(io, NvmOpcode.Read, 0x1_00, 16, true);
  await host.setProperty(PropertyOffset.Cc, CC_ENABLED | NORMAL_SHUTDOWN);
  await host.property(PropertyOffset.Csts);
  return writer.take();
}

async function sendAdmin(host: ScriptedQueue, { subsystem }: Served): Promise<void> {
  for (const offset of [PropertyOffset.Cap, PropertyOffset.Vs, PropertyOffset.Csts, PropertyOffset.Cc])
    await host.property(offset);
  for (const cns of [IdentifyCns.Controller, IdentifyCns.ActiveNamespaces, IdentifyCns.ControllerOfSet])
    await host.identify(cns);
  for (const cns of [IdentifyCns.Namespace, IdentifyCns.NamespaceDescriptors]) await host.identify(cns, 1);
  const event = host.command(AdminOpcode.AsyncEventRequest);
  host.post(event);
  await setFeature(host, Feature.AsyncEventConfiguration, 0x09_00);
  // The event is answered; the list of what has changed says why.
  subsystem.addNamespace({ backend: new MemoryBackend(1 << 20), blockBytes: 4096, uuid: new Uint8Array(16).fill(8) });
  await host.answer();
  for (const page of [...Object.values(LogPage)]) await getLog(host, page, 4096);
  await getLog(host, LogPage.Smart, 64, 512 - 64);
  for (const feature of [Feature.NumberOfQueues, Feature.KeepAliveTimer, Feature.AsyncEventConfiguration])
    await getFeature(host, feature);
  await getFeature(host, Feature.VolatileWriteCache);
  await setFeature(host, Feature.NumberOfQueues, 0x0003_0003);
  await setFeature(host, Feature.KeepAliveTimer, 30_000);
  await host.send(host.command(AdminOpcode.KeepAlive));
  const held = host.command(AdminOpcode.AsyncEventRequest);
  host.post(held);
  const abort = host.command(AdminOpcode.Abort).setArguments(ABORT, { sqid: 0, cid: held.cid });
  await host.send(abort);
  await host.answer();
}

async function sendIo(io: ScriptedQueue): Promise<void> {
  const data = pattern(8192);
  const write = io.command(NvmOpcode.Write, 1);
  setBlocks(write, NvmOpcode.Write, 1, 3, 8, { fua: true });
  write.sgl.setInCapsule(0, 4096);
  await io.send(write, data.subarray(0, 4096));
  io.memory.bytes.set(data, 0);
  await blocks(io, NvmOpcode.Write, 0x1_00, 16, false);
  await blocks(io, NvmOpcode.Read, 0x1_00, 1, false);
  await blocks(io, NvmOpcode.Compare, 0x1_00, 16, false);
  for (const opcode of [NvmOpcode.WriteZeroes, NvmOpcode.Verify]) {
    const command = io.command(opcode, 1);
    setBlocks(command, opcode, 1, 0x20, 5, opcode === NvmOpcode.WriteZeroes ? { deallocate: true } : {});
    await io.send(command);
  }
  const ranges = encodeDsmRanges([
    { lba: 8, blocks: 8, attributes: 0 },
    { lba: 64, blocks: 1, attributes: 0 },
  ]);
  const deallocation = io.command(NvmOpcode.DatasetManagement, 1);
  setDeallocation(deallocation, 1, 2);
  deallocation.sgl.setInCapsule(0, ranges.length);
  await io.send(deallocation, ranges);
  await io.send(io.command(NvmOpcode.Flush, 1));
}

/** Statuses of all kinds. */
async function refuse(host: ScriptedQueue, io: ScriptedQueue, served: Served): Promise<void> {
  await io.send(io.command(0x55, 1));
  await blocks(io, NvmOpcode.Read, 2 ** 40 + 7, 8, false);
  await blocks(io, NvmOpcode.Read, 0, 8, false, 9);
  await host.send(host.command(0xc0));
  await setFeature(host, 0x55, 1);
  await getLog(host, LogPage.Error, 512);
  const get = host.command(FABRICS_OPCODE, FabricsType.PropertyGet);
  await host.send(get.setArguments(PROPERTY, { size: 0, offset: 0x77_0 }));
  const stranger = await ScriptedQueue.open(served, 0);
  await stranger.connect({}, { subnqn: 'nqn.2026-11.example:another' });
  await ScriptedQueue.open(served, 3, 32, new Uint8Array(4)).catch(() => undefined);
}

function blocks(
  queue: ScriptedQueue,
  opcode: number,
  lba: number,
  count: number,
  invalidate: boolean,
  nsid = 1,
): Promise<unknown> {
  const command = queue.command(opcode, nsid);
  setBlocks(command, opcode, nsid, lba, count);
  return queue.send(queue.withData(command, count * 512, 0, invalidate));
}

function getLog(host: ScriptedQueue, lid: number, bytes: number, from = 0): Promise<unknown> {
  const command = host.command(AdminOpcode.GetLogPage, 0xff_ff_ff_ff);
  command.setArguments(GET_LOG_PAGE, { lid, numd: bytes / 4 - 1, lpo: BigInt(from) });
  return host.send(host.withData(command, bytes));
}

function setFeature(host: ScriptedQueue, fid: number, value: number): Promise<unknown> {
  return host.send(host.command(AdminOpcode.SetFeatures).setArguments(FEATURES, { fid, value }));
}

function getFeature(host: ScriptedQueue, fid: number): Promise<unknown> {
  return host.send(host.command(AdminOpcode.GetFeatures).setArguments(FEATURES, { fid }));
}

const HOST_PORT = 'device 1';
const NORMAL_SHUTDOWN = 0x40_00;
