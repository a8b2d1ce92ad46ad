/**
 * Makes one queue: the connection with its private data, the Connect command on it, and its authentication. Owns the
 * order of these steps.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { RdmaDevice } from '../../../device/api.ts';
import {
  CM_REJECT,
  CM_REPLY,
  CM_REQUEST,
  CNTLID_DYNAMIC,
  CONNECT,
  CONNECT_DATA,
  CONNECT_RESULT,
  type ConnectResult,
  cmRejectName,
  FABRICS_OPCODE,
  FabricsType,
  RECFMT,
} from '../codec/index.ts';
import { authenticateQueue, deadline } from './authenticate.ts';
import { NvmeError } from './errors.ts';
import type { HostCredentials, NvmeAddress } from './options.ts';
import { NVME_RDMA_PORT } from './options.ts';
import { HostQueue, type QueueOwner } from './queue.ts';
import type { QueueShape } from './queue-objects.ts';
import { HostRequest } from './request.ts';

/** What a queue is asked for with. */
export interface QueueTerms {
  /** The target, and the names of the host. */
  readonly to: NvmeAddress;
  /** Name of the subsystem. */
  readonly subnqn: string;
  /** 0 the admin queue. */
  readonly qid: number;
  readonly shape: QueueShape;
  /** The controller; of the admin queue `CNTLID_DYNAMIC`. */
  readonly cntlid: number;
  /** Keep-alive timeout in milliseconds; of the admin queue. */
  readonly keepAliveMs: number;
  readonly remoteInvalidate: boolean;
  /** For controllers that demand authentication. */
  readonly credentials: HostCredentials | undefined;
  /** How long Connect may take, and the authentication, in milliseconds; 0: no limit. */
  readonly timeoutMs: number;
}

/** A queue that is there. */
export interface ConnectedQueue {
  readonly queue: HostQueue;
  readonly result: ConnectResult;
}

/**
 * Rejects as `RdmaCm.connect`; with ERR_ROCE_REJECTED and the reason of NVMe where the target gives one; with
 * NvmeError when it refuses Connect; as `authenticateQueue`. Nothing is left behind then.
 */
export async function connectQueue(device: RdmaDevice, terms: QueueTerms, owner: QueueOwner): Promise<ConnectedQueue> {
  const { to, qid, shape } = terms;
  const queue = new HostQueue(device, qid, shape, terms.remoteInvalidate, owner);
  try {
    const connection = await device.cm.connect({
      ...CONNECTION,
      address: to.address,
      ...(to.source === undefined ? {} : { source: to.source }),
      port: to.port ?? NVME_RDMA_PORT,
      qp: queue.objects.qp,
      privateData: CM_REQUEST.encode({
        recfmt: RECFMT,
        qid,
        hrqsize: shape.size,
        hsqsize: shape.size - 1,
        cntlid: qid === 0 ? 0 : terms.cntlid,
      }),
    });
    queue.start(connection);
    if (CM_REPLY.read(connection.privateData)?.recfmt !== RECFMT)
      throw new RoceError('ERR_ROCE_REJECTED', 'the target answers in another format of private data');
    const result = await fabricsConnect(queue, terms);
    await authenticateQueue(queue, result, {
      credentials: terms.credentials,
      hostNqn: to.hostnqn,
      subNqn: terms.subnqn,
      timers: to.timers,
      timeoutMs: terms.timeoutMs,
    });
    return { queue, result };
  } catch (error) {
    await queue.close();
    throw explained(error);
  }
}

async function fabricsConnect(queue: HostQueue, terms: QueueTerms): Promise<ConnectResult> {
  const request = new HostRequest();
  request.command.begin(FABRICS_OPCODE, FabricsType.Connect).setArguments(CONNECT, {
    recfmt: RECFMT,
    qid: terms.qid,
    sqsize: terms.shape.size - 1,
    kato: terms.qid === 0 ? terms.keepAliveMs : 0,
  });
  request.direction = 'write';
  request.data = CONNECT_DATA.encode({
    hostid: terms.to.hostid,
    cntlid: terms.qid === 0 ? CNTLID_DYNAMIC : terms.cntlid,
    subnqn: terms.subnqn,
    hostnqn: terms.to.hostnqn,
  });
  const cancel = deadline(queue, terms.to.timers, terms.timeoutMs, 'answer the Connect');
  try {
    queue.send(request);
    await request.done;
  } finally {
    cancel();
  }
  const { status, dw0 } = request.completion;
  if (status !== 0) throw new NvmeError('Connect', status, dw0, 'fabrics');
  return CONNECT_RESULT.ofNumber(dw0);
}

/** A rejection with a reason of NVMe in its private data, in these words. */
function explained(error: unknown): unknown {
  if (!(error instanceof RoceError && 'privateData' in error && error.privateData instanceof Uint8Array)) return error;
  const reject = CM_REJECT.read(error.privateData);
  if (reject === undefined || reject.sts === 0) return error;
  return new RoceError('ERR_ROCE_REJECTED', `the target refuses the queue: ${cmRejectName(reject.sts)}`, {
    cause: error,
  });
}

/** No READs of ours; a target that is gone is noticed after some seconds. */
const CONNECTION = {
  initiatorDepth: 0,
  rnrRetryCount: 7,
  retryCount: 7,
  cmResponseTimeout: 18,
  maxCmRetries: 4,
} as const;
