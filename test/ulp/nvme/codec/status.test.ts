/**
 * Goal: a status is the number that the standard, and Linux, have for it. Method: the table once more, in the order of
 * the numbers.
 */
import { expect, it } from 'vitest';
import { NvmeStatus } from '../../../../src/ulp/nvme/codec/index.ts';

/** Names from this number on, one after the other; a dot: a number that has none here. */
const TABLE: readonly (readonly [first: number, names: string])[] = [
  [0x0_00, 'Success InvalidOpcode InvalidField CommandIdConflict DataTransferError AbortedPowerLoss InternalError'],
  [0x0_07, 'AbortRequested AbortedSqDeletion AbortedFailedFused AbortedMissingFused InvalidNamespace'],
  [0x0_0c, 'CommandSequenceError InvalidSglSegment InvalidSglCount InvalidSglDataLength InvalidSglMetadataLength'],
  [0x0_11, 'InvalidSglType InvalidCmbUse InvalidPrpOffset AtomicWriteUnitExceeded OperationDenied InvalidSglOffset .'],
  [0x0_18, 'HostIdInconsistent KeepAliveExpired KeepAliveInvalid AbortedPreempt SanitizeFailed SanitizeInProgress'],
  [0x0_1e, 'InvalidSglGranularity CommandNotSupportedCmb NamespaceWriteProtected CommandInterrupted'],
  [0x0_22, 'TransientTransportError . AdminMediaNotReady . . . . . . . InvalidCommandSet'],
  [0x0_80, 'LbaOutOfRange CapacityExceeded NamespaceNotReady ReservationConflict FormatInProgress'],
  [0x1_00, 'CqInvalid QidInvalid QueueSizeInvalid AbortLimitExceeded . AsyncEventLimitExceeded InvalidFirmwareSlot'],
  [0x1_07, 'InvalidFirmwareImage InvalidInterruptVector InvalidLogPage InvalidFormat . InvalidQueueDeletion'],
  [0x1_0d, 'FeatureNotSaveable FeatureNotChangeable FeatureNotNamespaceSpecific . . . . OverlappingRange . . .'],
  [0x1_18, 'NamespaceAlreadyAttached NamespaceIsPrivate NamespaceNotAttached . ControllerListInvalid . .'],
  [0x1_1f, 'InvalidControllerId . . . . AnaGroupInvalid'],
  [0x1_80, 'ConflictingAttributes InvalidProtectionInformation ReadOnlyRange CommandSizeExceeded'],
  [0x1_80, 'ConnectIncompatibleFormat ConnectControllerBusy ConnectInvalidParameters ConnectRestartDiscovery'],
  [0x1_84, 'ConnectInvalidHost InvalidQueueType . . . . . . . . . . DiscoverRestart AuthenticationRequired'],
  [0x2_80, 'WriteFault UnrecoveredReadError GuardCheckError ApplicationTagError ReferenceTagError CompareFailure'],
  [0x2_86, 'AccessDenied UnwrittenBlock'],
  [0x3_00, 'InternalPathError AnaPersistentLoss AnaInaccessible AnaTransition'],
  [0x3_60, 'ControllerPathError'],
  [0x3_70, 'HostPathError HostAborted'],
];

it('is the number that it has in the standard', () => {
  const rows = TABLE.flatMap(([first, names]) => names.split(' ').map((name, at) => [name, first + at] as const));
  expect(NvmeStatus).toEqual(Object.fromEntries(rows.filter(([name]) => name !== '.')));
});
