/**
 * Commands on the admin queue, and those of Fabrics on any queue but Connect.
 *
 * Owns what a controller says of itself: Identify is in `identity.ts`, log pages are in `pages.ts`.
 */
import {
  ABORT,
  ABORT_RESULT_NOT_ABORTED,
  AdminOpcode,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  GET_LOG_PAGE,
  HOST_IDENTIFIER,
  IDENTIFY,
  IDENTIFY_BYTES,
  NUMBER_OF_QUEUES,
  type NvmeCommand,
  NvmeStatus,
  PROPERTY,
} from '../codec/index.ts';
import type { Controller } from './controller.ts';
import { MAX_DATA_BYTES } from './data-pool.ts';
import { type DiscoverySource, identifyData } from './identity.ts';
import { logPage } from './pages.ts';
import type { TargetQueue } from './queue.ts';
import { DONE, type Outcome, refused, type Task } from './task.ts';

/** Bytes of data of an admin command, or a status as its complement. */
export function adminDataLength(command: NvmeCommand): number {
  switch (command.opcode) {
    case AdminOpcode.Identify:
      return IDENTIFY_BYTES;
    case AdminOpcode.GetLogPage: {
      const bytes = (command.arguments(GET_LOG_PAGE).numd + 1) * 4;
      return bytes > MAX_DATA_BYTES ? ~refused(NvmeStatus.InvalidField).status : bytes;
    }
    case AdminOpcode.GetFeatures:
      return (command.cdw10 & 0xff) === Feature.HostIdentifier ? HOST_ID_BYTES : 0;
    default:
      return 0;
  }
}

/** Does what the command says; undefined while it is held. */
export function executeAdmin(
  controller: Controller,
  queue: TargetQueue,
  task: Task,
  discovery: DiscoverySource,
): Outcome | undefined {
  const { command } = task;
  if (command.opcode === FABRICS_OPCODE) return executeFabrics(controller, task);
  if (!controller.ready) return refused(NvmeStatus.CommandSequenceError);
  switch (command.opcode) {
    case AdminOpcode.Identify:
      return answered(task, identifyData(controller, command.nsid, command.arguments(IDENTIFY).cns));
    case AdminOpcode.GetLogPage:
      return getLogPage(controller, task, discovery);
    case AdminOpcode.SetFeatures:
      return setFeatures(controller, command);
    case AdminOpcode.GetFeatures:
      return getFeatures(controller, task);
    case AdminOpcode.KeepAlive:
      return DONE;
    case AdminOpcode.AsyncEventRequest:
      return controller.holdEventRequest(task);
    case AdminOpcode.Abort: {
      const { sqid, cid } = command.arguments(ABORT);
      const aborted = sqid === 0 && queue.qid === 0 && controller.abortEventRequest(cid);
      return { status: NvmeStatus.Success, dw0: aborted ? 0 : ABORT_RESULT_NOT_ABORTED };
    }
    default:
      return refused(NvmeStatus.InvalidOpcode);
  }
}

/** Property Get and Set, on the admin queue only; Connect was before. */
export function executeFabrics(controller: Controller, { command }: Task, qid = 0): Outcome {
  // Linux's target has no other command of Fabrics on an I/O queue (linux:fabrics-cmd.c#nvmet_parse_fabrics_io_cmd).
  if (qid !== 0 && command.fabricsType !== FabricsType.Connect) return refused(NvmeStatus.InvalidOpcode);
  const { size, offset, value } = command.arguments(PROPERTY);
  switch (command.fabricsType) {
    case FabricsType.PropertyGet: {
      const found = controller.property(offset, size === 1);
      if (found === undefined) return refused(NvmeStatus.InvalidField);
      return { status: NvmeStatus.Success, dw0: Number(found & 0xff_ff_ff_ffn), dw1: Number(found >> 32n) };
    }
    case FabricsType.PropertySet:
      return size === 0 ? controller.setProperty(offset, value) : refused(NvmeStatus.InvalidField);
    case FabricsType.Connect:
      return refused(NvmeStatus.CommandSequenceError);
    default:
      return refused(NvmeStatus.InvalidOpcode);
  }
}

function getLogPage(controller: Controller, task: Task, discovery: DiscoverySource): Outcome {
  const { lid, lpo, rae, lsp } = task.command.arguments(GET_LOG_PAGE);
  const page = logPage(controller, lid, lsp, discovery);
  if (page === undefined) return refused(NvmeStatus.InvalidLogPage);
  if ((lpo & 3n) !== 0n || lpo > BigInt(page.length)) return refused(NvmeStatus.InvalidField);
  const rest = page.subarray(Number(lpo));
  task.data.fill(0);
  task.data.set(rest.subarray(0, task.data.length));
  if (!rae) controller.logPageRead(lid);
  return DONE;
}

function answered(task: Task, data: Uint8Array | number): Outcome {
  if (typeof data === 'number') return refused(data);
  task.data.set(data);
  return DONE;
}

function setFeatures(controller: Controller, command: NvmeCommand): Outcome {
  const { fid, value, save } = command.arguments(FEATURES);
  if (save) return refused(NvmeStatus.FeatureNotSaveable);
  switch (fid) {
    case Feature.NumberOfQueues: {
      const { nsq, ncq } = NUMBER_OF_QUEUES.ofNumber(value);
      if (nsq === 0xff_ff || ncq === 0xff_ff) return refused(NvmeStatus.InvalidField);
      return { status: NvmeStatus.Success, dw0: queuesGranted(controller) };
    }
    case Feature.KeepAliveTimer:
      controller.kato = value;
      controller.armKeepAlive();
      return DONE;
    case Feature.HostIdentifier:
      return refused(NvmeStatus.CommandSequenceError);
    default:
      if (!KEPT_FEATURES.has(fid)) return refused(NvmeStatus.InvalidField);
      controller.features.set(fid, value);
      return DONE;
  }
}

function getFeatures(controller: Controller, task: Task): Outcome {
  const { fid, sel } = task.command.arguments(FEATURES);
  if (sel !== 0) return refused(NvmeStatus.InvalidField);
  switch (fid) {
    case Feature.NumberOfQueues:
      return { status: NvmeStatus.Success, dw0: queuesGranted(controller) };
    case Feature.KeepAliveTimer:
      return { status: NvmeStatus.Success, dw0: controller.kato };
    case Feature.VolatileWriteCache:
      return { status: NvmeStatus.Success, dw0: 1 };
    case Feature.HostIdentifier:
      if (!HOST_IDENTIFIER.ofNumber(task.command.cdw11).exhid) return refused(NvmeStatus.InvalidField);
      return answered(task, controller.hostId);
    default:
      if (!KEPT_FEATURES.has(fid)) return refused(NvmeStatus.InvalidField);
      return { status: NvmeStatus.Success, dw0: controller.features.get(fid) ?? 0 };
  }
}

function queuesGranted({ maxQueues }: Controller): number {
  return NUMBER_OF_QUEUES.toNumber({ nsq: maxQueues - 1, ncq: maxQueues - 1 });
}

/** Features of which only the value is kept. */
const KEPT_FEATURES: ReadonlySet<number> = new Set([
  Feature.Arbitration,
  Feature.PowerManagement,
  Feature.TemperatureThreshold,
  Feature.ErrorRecovery,
  Feature.WriteAtomicity,
  Feature.AsyncEventConfiguration,
]);
const HOST_ID_BYTES = 16;
