/**
 * Which statuses a target may answer which command with, as the specifications name them: any of the generic ones, and
 * of the command-specific ones only those of that command. Owns this table. Rules: ref:nvmeof#4, linux:nvme.h.
 */
import {
  AdminOpcode,
  FABRICS_OPCODE,
  FabricsType,
  type NvmeCommand,
  NvmeStatus,
  NvmOpcode,
  STATUS_CODE_MASK,
} from '../../../../src/ulp/nvme/index.ts';

const S = NvmeStatus;

/** Any command may end with one of these. */
const GENERIC: readonly number[] = [
  S.Success,
  S.InvalidOpcode,
  S.InvalidField,
  S.CommandIdConflict,
  S.DataTransferError,
  S.InternalError,
  S.AbortRequested,
  S.AbortedSqDeletion,
  S.InvalidNamespace,
  S.CommandSequenceError,
  S.InvalidSglDataLength,
  S.InvalidSglType,
  S.InvalidSglOffset,
  // Fabrics: any command of a queue that has yet to authenticate.
  S.AuthenticationRequired,
];

const BLOCKS: readonly number[] = [
  S.LbaOutOfRange,
  S.CapacityExceeded,
  S.NamespaceWriteProtected,
  S.InvalidProtectionInformation,
  S.WriteFault,
  S.UnrecoveredReadError,
  S.AnaInaccessible,
  S.AnaPersistentLoss,
  S.AnaTransition,
];

const ADMIN: Readonly<Record<number, readonly number[]>> = {
  [AdminOpcode.GetLogPage]: [S.InvalidLogPage],
  [AdminOpcode.Abort]: [S.AbortLimitExceeded],
  [AdminOpcode.SetFeatures]: [S.FeatureNotSaveable, S.FeatureNotChangeable, S.KeepAliveInvalid],
  [AdminOpcode.AsyncEventRequest]: [S.AsyncEventLimitExceeded],
  [AdminOpcode.KeepAlive]: [S.KeepAliveExpired],
};

const IO: Readonly<Record<number, readonly number[]>> = {
  [NvmOpcode.Flush]: BLOCKS,
  [NvmOpcode.Write]: BLOCKS,
  [NvmOpcode.Read]: BLOCKS,
  [NvmOpcode.Compare]: [...BLOCKS, S.CompareFailure],
  [NvmOpcode.WriteZeroes]: BLOCKS,
  [NvmOpcode.DatasetManagement]: BLOCKS,
  [NvmOpcode.Verify]: BLOCKS,
};

const FABRICS: Readonly<Record<number, readonly number[]>> = {
  [FabricsType.Connect]: [
    S.ConnectIncompatibleFormat,
    S.ConnectControllerBusy,
    S.ConnectInvalidParameters,
    S.ConnectRestartDiscovery,
    S.ConnectInvalidHost,
    S.InvalidQueueType,
  ],
};

/** Whether the specifications let the command, sent on queue `qid`, end so. */
export function mayEndWith(status: number, qid: number, command: Pick<NvmeCommand, 'opcode' | 'fabricsType'>): boolean {
  const code = status & STATUS_CODE_MASK;
  if (GENERIC.includes(code)) return true;
  const { opcode, fabricsType } = command;
  if (opcode === FABRICS_OPCODE) return FABRICS[fabricsType]?.includes(code) === true;
  return (qid === 0 ? ADMIN : IO)[opcode]?.includes(code) === true;
}
