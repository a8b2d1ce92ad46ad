/**
 * What the reasons of a CM REJ mean for the user, and what to do about them. Owns the texts.
 * Reasons: packets/cm/rej.ts. Their use in the kernel: rdma:cm.c#cm_req_handler, rdma:cma.c#cma_rep_recv.
 */
import { CmRejReason } from '../../../packets/cm/index.ts';

/** A reason explained. */
export interface RejectReason {
  /** Follows "refuses ...:". */
  readonly meaning: string;
  readonly advice: string;
}

/** Words for a reason; undefined for one without. */
export function rejectReason(reason: number): RejectReason | undefined {
  return REASONS.get(reason);
}

const SAME_PATH =
  'Let both ends use the same kind of path: address family, GID index, traffic class; show_gids lists them.';

const REASONS: ReadonlyMap<number, RejectReason> = new Map([
  [
    CmRejReason.NoQp,
    { meaning: 'it has no queue pair left', advice: 'Raise or free queue pairs: rdma resource show.' },
  ],
  [
    CmRejReason.NoResources,
    {
      meaning: 'it lacks resources',
      advice: 'Look at memory limits (ulimit -l) and rdma resource show on the refusing host.',
    },
  ],
  [
    CmRejReason.Unsupported,
    {
      meaning: 'it cannot serve such a request',
      advice: 'Compare what both ends support: transport service, XRC, flow control.',
    },
  ],
  [
    CmRejReason.InvalidCommId,
    {
      meaning: 'it does not know the communication id',
      advice: 'The peer was restarted or gave up meanwhile: connect again.',
    },
  ],
  [
    CmRejReason.InvalidServiceId,
    {
      meaning: 'no process listens there',
      advice:
        'Start the server, or use the port and the port space it listens on: rdma resource show cm_id lists listeners.',
    },
  ],
  [
    CmRejReason.InvalidTransportType,
    {
      meaning: 'it requires another transport service',
      advice: 'Use the same service at both ends: RC with RC, UC with UC.',
    },
  ],
  [
    CmRejReason.StaleConnection,
    {
      meaning: 'it still has a connection with this queue pair',
      advice:
        'The old connection was not taken down: connect again with a new queue pair, or wait for the time-wait to end.',
    },
  ],
  [
    CmRejReason.InvalidGid,
    {
      meaning: 'the GID of the path is not its own',
      advice: 'Use an address that the listening device has: show_gids, ip address.',
    },
  ],
  [CmRejReason.InvalidLid, { meaning: 'the LID of the path is not its own', advice: SAME_PATH }],
  [CmRejReason.InvalidSl, { meaning: 'it does not take the service level', advice: SAME_PATH }],
  [CmRejReason.InvalidTrafficClass, { meaning: 'it does not take the traffic class', advice: SAME_PATH }],
  [CmRejReason.InvalidHopLimit, { meaning: 'it does not take the hop limit', advice: SAME_PATH }],
  [CmRejReason.InvalidPacketRate, { meaning: 'it does not take the packet rate', advice: SAME_PATH }],
  [CmRejReason.InvalidFlowLabel, { meaning: 'it does not take the flow label', advice: SAME_PATH }],
  [
    CmRejReason.InvalidMtu,
    {
      meaning: 'it does not take the path MTU',
      advice: 'Set the same MTU on both interfaces: ip link set DEV mtu 4200.',
    },
  ],
  [
    CmRejReason.InsufficientRespResources,
    {
      meaning: 'it cannot answer so many READs and atomics at a time',
      advice: 'Request less: initiator_depth up to the responder_resources of the peer.',
    },
  ],
  [
    CmRejReason.InvalidRnrRetry,
    { meaning: 'it does not take the RNR retry count', advice: 'Use an rnr_retry_count of 0 to 7.' },
  ],
  [
    CmRejReason.InvalidClassVersion,
    {
      meaning: 'it uses another version of connection management',
      advice: 'Update one of the two: class version 2 is the usual one.',
    },
  ],
  [CmRejReason.PortRedirect, { meaning: 'the service is at another port', advice: 'Connect to the port it names.' }],
  [
    CmRejReason.PortCmRedirect,
    { meaning: 'the service is at another connection manager', advice: 'Connect to the one it names.' },
  ],
  [
    CmRejReason.ConsumerDefined,
    {
      meaning: 'the application refused',
      advice: 'Look at the application: its log on the refusing host, and the private data of the REJ.',
    },
  ],
]);
