/**
 * Statuses of commands: their numbers, and their names.
 *
 * Owns the table. A status has 15 bits: code (8), type (3), retry delay (2), more (1), do not retry (1). The numbers
 * here are type and code; some of type 1 mean one thing on a Fabrics command and another on a command of NVM. Rules:
 * ref:nvmeof.
 */

/** Statuses by name: type in bits 8 to 10, code in bits 0 to 7. */
export const NvmeStatus = {
  /** Done. */
  Success: 0x0_00,
  /** No such command. */
  InvalidOpcode: 0x0_01,
  /** A field has a value that is not allowed. */
  InvalidField: 0x0_02,
  /** The identifier is in use. */
  CommandIdConflict: 0x0_03,
  /** Data or metadata could not be transferred. */
  DataTransferError: 0x0_04,
  /** The power is about to fail. */
  AbortedPowerLoss: 0x0_05,
  /** The controller has failed. */
  InternalError: 0x0_06,
  /** An Abort named the command. */
  AbortRequested: 0x0_07,
  /** The submission queue was deleted. */
  AbortedSqDeletion: 0x0_08,
  /** The other command of a fused pair failed. */
  AbortedFailedFused: 0x0_09,
  /** The other command of a fused pair did not come. */
  AbortedMissingFused: 0x0_0a,
  /** No such namespace, or its format does not allow it. */
  InvalidNamespace: 0x0_0b,
  /** Not now: another command has to come first. */
  CommandSequenceError: 0x0_0c,
  /** An SGL segment is not what it has to be. */
  InvalidSglSegment: 0x0_0d,
  /** Too many or too few SGL descriptors. */
  InvalidSglCount: 0x0_0e,
  /** Length of the data SGL. */
  InvalidSglDataLength: 0x0_0f,
  /** Length of the metadata SGL. */
  InvalidSglMetadataLength: 0x0_10,
  /** A type of SGL descriptor that is not supported. */
  InvalidSglType: 0x0_11,
  /** Use of the controller memory buffer. */
  InvalidCmbUse: 0x0_12,
  /** Offset of a PRP. */
  InvalidPrpOffset: 0x0_13,
  /** More than is written atomically. */
  AtomicWriteUnitExceeded: 0x0_14,
  /** Not allowed. */
  OperationDenied: 0x0_15,
  /** Offset of an SGL: not in the capsule. */
  InvalidSglOffset: 0x0_16,
  /** A host identifier of another format than those there are. */
  HostIdInconsistent: 0x0_18,
  /** The host was silent for too long. */
  KeepAliveExpired: 0x0_19,
  /** A keep-alive timeout that is not possible. */
  KeepAliveInvalid: 0x0_1a,
  /** Aborted by a reservation. */
  AbortedPreempt: 0x0_1b,
  /** Sanitize has failed. */
  SanitizeFailed: 0x0_1c,
  /** Sanitize is under way. */
  SanitizeInProgress: 0x0_1d,
  /** Granularity of an SGL. */
  InvalidSglGranularity: 0x0_1e,
  /** Not on a queue in the controller memory buffer. */
  CommandNotSupportedCmb: 0x0_1f,
  /** The namespace is write protected. */
  NamespaceWriteProtected: 0x0_20,
  /** Interrupted; to be sent again. */
  CommandInterrupted: 0x0_21,
  /** The transport failed for a moment; to be sent again. */
  TransientTransportError: 0x0_22,
  /** No access to the media yet, for an admin command. */
  AdminMediaNotReady: 0x0_24,
  /** No such command set. */
  InvalidCommandSet: 0x0_2c,
  /** Blocks beyond the end of the namespace. */
  LbaOutOfRange: 0x0_80,
  /** No room in the namespace: thin provisioning. */
  CapacityExceeded: 0x0_81,
  /** The namespace is not ready. */
  NamespaceNotReady: 0x0_82,
  /** A reservation of another host. */
  ReservationConflict: 0x0_83,
  /** The namespace is being formatted. */
  FormatInProgress: 0x0_84,

  /** Completion queue. */
  CqInvalid: 0x1_00,
  /** Queue identifier. */
  QidInvalid: 0x1_01,
  /** Queue size. */
  QueueSizeInvalid: 0x1_02,
  /** Too many Aborts. */
  AbortLimitExceeded: 0x1_03,
  /** Too many Asynchronous Event Requests. */
  AsyncEventLimitExceeded: 0x1_05,
  /** Firmware slot. */
  InvalidFirmwareSlot: 0x1_06,
  /** Firmware image. */
  InvalidFirmwareImage: 0x1_07,
  /** Interrupt vector. */
  InvalidInterruptVector: 0x1_08,
  /** No such log page. */
  InvalidLogPage: 0x1_09,
  /** Format. */
  InvalidFormat: 0x1_0a,
  /** Deletion of a queue that is needed. */
  InvalidQueueDeletion: 0x1_0c,
  /** The feature cannot be saved. */
  FeatureNotSaveable: 0x1_0d,
  /** The feature cannot be changed. */
  FeatureNotChangeable: 0x1_0e,
  /** The feature is not one of a namespace. */
  FeatureNotNamespaceSpecific: 0x1_0f,
  /** Ranges overlap. */
  OverlappingRange: 0x1_14,
  /** The namespace is attached already. */
  NamespaceAlreadyAttached: 0x1_18,
  /** The namespace is private. */
  NamespaceIsPrivate: 0x1_19,
  /** The namespace is not attached. */
  NamespaceNotAttached: 0x1_1a,
  /** List of controllers. */
  ControllerListInvalid: 0x1_1c,
  /** Controller identifier. */
  InvalidControllerId: 0x1_1f,
  /** ANA group. */
  AnaGroupInvalid: 0x1_24,

  /** Of NVM: attributes that conflict. */
  ConflictingAttributes: 0x1_80,
  /** Of NVM: protection information. */
  InvalidProtectionInformation: 0x1_81,
  /** Of NVM: write to what is read-only. */
  ReadOnlyRange: 0x1_82,
  /** Of NVM: more than a command may name. */
  CommandSizeExceeded: 0x1_83,

  /** Of Fabrics: format of Connect. */
  ConnectIncompatibleFormat: 0x1_80,
  /** Of Fabrics: the controller belongs to another host. */
  ConnectControllerBusy: 0x1_81,
  /** Of Fabrics: a parameter of Connect; dword 0 says which. */
  ConnectInvalidParameters: 0x1_82,
  /** Of Fabrics: the host has to discover again. */
  ConnectRestartDiscovery: 0x1_83,
  /** Of Fabrics: the host is not allowed. */
  ConnectInvalidHost: 0x1_84,
  /** Of Fabrics: not on this type of queue. */
  InvalidQueueType: 0x1_85,
  /** The discovery log has changed while it was read. */
  DiscoverRestart: 0x1_90,
  /** Authentication comes first. */
  AuthenticationRequired: 0x1_91,

  /** The data could not be written. */
  WriteFault: 0x2_80,
  /** The data could not be read. */
  UnrecoveredReadError: 0x2_81,
  /** Guard of protection information. */
  GuardCheckError: 0x2_82,
  /** Application tag. */
  ApplicationTagError: 0x2_83,
  /** Reference tag. */
  ReferenceTagError: 0x2_84,
  /** The blocks are not those of the command. */
  CompareFailure: 0x2_85,
  /** No access to these blocks. */
  AccessDenied: 0x2_86,
  /** Blocks that were never written, or deallocated. */
  UnwrittenBlock: 0x2_87,

  /** The path has failed inside. */
  InternalPathError: 0x3_00,
  /** ANA: lost for good. */
  AnaPersistentLoss: 0x3_01,
  /** ANA: not by this path. */
  AnaInaccessible: 0x3_02,
  /** ANA: changing. */
  AnaTransition: 0x3_03,
  /** The controller found the path broken. */
  ControllerPathError: 0x3_60,
  /** The host found the path broken. */
  HostPathError: 0x3_70,
  /** The host gave the command up. */
  HostAborted: 0x3_71,
} as const;

/** The bit that says that a repetition fails as well. */
export const STATUS_DNR = 0x40_00;
/** The bit that says that the error log has more. */
export const STATUS_MORE = 0x20_00;
/** Type and code of a status, without delay, more and do not retry. */
export const STATUS_CODE_MASK = 0x07_ff;

/** Type of a status, 0..7: 0 generic, 1 command specific, 2 media, 3 path, 7 vendor. */
export function statusType(status: number): number {
  return (status >>> 8) & 0x07;
}

/** What a status is called. @param of whose numbers those are that Fabrics and NVM share */
export function statusName(status: number, of: 'nvm' | 'fabrics' = 'nvm'): string {
  const code = status & STATUS_CODE_MASK;
  const name = (of === 'fabrics' ? FABRICS_NAMES : NVM_NAMES).get(code) ?? ANY_NAMES.get(code);
  const words = name ?? `${TYPE_WORDS[statusType(status)] ?? 'reserved'} status ${(code & 0xff).toString(16)}h`;
  return (status & STATUS_DNR) === 0 ? words : `${words}, do not retry`;
}

/** "InvalidSglOffset" as people read it. */
function wordsOf(name: string): string {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').split(' ');
  return words.map((word) => ABBREVIATIONS.get(word) ?? word.toLowerCase()).join(' ');
}

const ABBREVIATIONS: ReadonlyMap<string, string> = new Map(
  ['SGL', 'SQ', 'CQ', 'CMB', 'PRP', 'LBA', 'ANA', 'QID', 'ID'].map((word) => [
    `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`,
    word,
  ]),
);

const TYPE_WORDS: readonly string[] = [
  'generic',
  'command specific',
  'media',
  'path',
  'reserved',
  'reserved',
  'reserved',
  'vendor',
];

/** Names that belong to one of the two; the first in the table above is NVM's. */
const SHARED_CODES = 0x1_80;
const SHARED_END = 0x1_86;
const ANY_NAMES = new Map<number, string>();
const NVM_NAMES = new Map<number, string>();
const FABRICS_NAMES = new Map<number, string>();
for (const [name, code] of Object.entries(NvmeStatus)) {
  const shared = code >= SHARED_CODES && code < SHARED_END;
  const names = !shared ? ANY_NAMES : /Connect|QueueType/.test(name) ? FABRICS_NAMES : NVM_NAMES;
  names.set(code, wordsOf(name));
}
