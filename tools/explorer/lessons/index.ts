/**
 * The lessons, in the order in which they are best taken. Each is a JSON file beside this one; `parseLesson` of the
 * playground reads it.
 */

import atomicOnce from './atomic-once.json' with { type: 'json' };
import badKey from './bad-key.json' with { type: 'json' };
import beyondTheRegion from './beyond-the-region.json' with { type: 'json' };
import connectionManagement from './connection-management.json' with { type: 'json' };
import dcqcnUnderIncast from './dcqcn-under-incast.json' with { type: 'json' };
import duplicatePacket from './duplicate-packet.json' with { type: 'json' };
import ecnCnp from './ecn-cnp.json' with { type: 'json' };
import flushAndAtomicWrite from './flush-and-atomic-write.json' with { type: 'json' };
import incastWithoutControl from './incast-without-control.json' with { type: 'json' };
import lostAck from './lost-ack.json' with { type: 'json' };
import lostLastPacket from './lost-last-packet.json' with { type: 'json' };
import lostPacket from './lost-packet.json' with { type: 'json' };
import mtuAndSegmentation from './mtu-and-segmentation.json' with { type: 'json' };
import multicast from './multicast.json' with { type: 'json' };
import nvmeRead from './nvme-read.json' with { type: 'json' };
import oneSend from './one-send.json' with { type: 'json' };
import pfcDeadlock from './pfc-deadlock.json' with { type: 'json' };
import pfcInsteadOfLoss from './pfc-instead-of-loss.json' with { type: 'json' };
import psnWrap from './psn-wrap.json' with { type: 'json' };
import readImpliedNak from './read-implied-nak.json' with { type: 'json' };
import readsOutstanding from './reads-outstanding.json' with { type: 'json' };
import receiverNotReady from './receiver-not-ready.json' with { type: 'json' };
import reordering from './reordering.json' with { type: 'json' };
import retryExceeded from './retry-exceeded.json' with { type: 'json' };
import rnrGivesUp from './rnr-gives-up.json' with { type: 'json' };
import ucLosesQuietly from './uc-loses-quietly.json' with { type: 'json' };
import udDatagrams from './ud-datagrams.json' with { type: 'json' };
import whatRdmaIs from './what-rdma-is.json' with { type: 'json' };
import windowsAndKeys from './windows-and-keys.json' with { type: 'json' };
import writeInPackets from './write-in-packets.json' with { type: 'json' };
import writeWithImmediate from './write-with-immediate.json' with { type: 'json' };
import wrongIcrc from './wrong-icrc.json' with { type: 'json' };

/** As they stand in the files. */
export const LESSONS: readonly unknown[] = [
  whatRdmaIs,
  oneSend,
  writeInPackets,
  writeWithImmediate,
  lostPacket,
  lostAck,
  lostLastPacket,
  duplicatePacket,
  receiverNotReady,
  rnrGivesUp,
  readImpliedNak,
  readsOutstanding,
  nvmeRead,
  atomicOnce,
  flushAndAtomicWrite,
  mtuAndSegmentation,
  psnWrap,
  badKey,
  beyondTheRegion,
  windowsAndKeys,
  wrongIcrc,
  retryExceeded,
  ucLosesQuietly,
  udDatagrams,
  multicast,
  connectionManagement,
  reordering,
  incastWithoutControl,
  pfcInsteadOfLoss,
  pfcDeadlock,
  ecnCnp,
  dcqcnUnderIncast,
];
