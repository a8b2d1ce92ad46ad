/**
 * Multicast groups: which queue pairs are attached to which, the host's membership reports, and the receivers of a
 * datagram to a group. Sans I/O. On Ethernet the reports are ours (group-reports.ts) and so are the copies of what we
 * send to a group we are in; on the IP medium the kernel does both, and the link joins the group.
 *
 * A datagram to queue pair 0xffffff reaches every queue pair attached to its group with the same Q_Key and P_Key, the
 * sender's own too, as with rdma_rxe, whose socket loops multicast back (ref:conformance#MC-01 to MC-06;
 * rxe:rxe_recv.c#rxe_rcv_mcast_pkt, rxe_mcast.c). Attaching twice is attaching once; limits and errno as
 * ibv_attach_mcast(3) and rxe:rxe_mcast.c#rxe_attach_mcg.
 */
import type { IpAddress, IpPrefix, MacAddress } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import { type Frame, frameDestinationIs, Medium } from '../../packets/frame.ts';
import { QpType } from '../../transport/qp-type.ts';
import type { Random } from '../../transport/random.ts';
import type { GroupHost } from '../ground/machine.ts';
import { GroupReports } from './host/group-reports.ts';
import type { Qp } from './verbs/index.ts';

/** Destination queue pair number of a datagram to a group. */
export const MULTICAST_QPN = 0xff_ff_ff;

export interface MulticastOptions {
  readonly medium: Medium;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  readonly vlanTci: number | undefined;
  readonly random: Random;
  readonly host: GroupHost;
  /** Groups there may be, and queue pairs in each. */
  readonly maxGroups: number;
  readonly maxAttached: number;
  /** A query or report came from what cannot be a host of this link. */
  readonly suspect?: ((cause: 'bad-source', source: IpAddress) => void) | undefined;
}

interface Group {
  readonly address: IpAddress;
  readonly qps: Qp[];
  /** Settles when the device has joined, or could not. */
  readonly joined: Promise<void>;
}

export class Multicast {
  /** Absent on the IP medium, where the kernel does this. */
  readonly reports: GroupReports | undefined;
  readonly #options: MulticastOptions;
  readonly #groups: Group[] = [];

  constructor(options: MulticastOptions) {
    this.#options = options;
    if (options.medium === Medium.Ethernet) this.reports = new GroupReports(options);
  }

  /** Groups the device is in. */
  get size(): number {
    return this.#groups.length;
  }

  /** Whether a queue pair is attached to a group, or will be when the device has joined it. */
  isMember(qp: Qp): boolean {
    return this.#groups.some(({ qps }) => qps.includes(qp));
  }

  /** Whether the device must loop its own datagrams to groups back. */
  get loopsBack(): boolean {
    return this.reports !== undefined && this.#groups.length > 0;
  }

  /**
   * Attaches a queue pair to a group, which the device joins with its first one. Rejects with ERR_ROCE_ARGUMENT for
   * what is no UD queue pair or no group, ERR_ROCE_LIMIT when the limit is reached, and with the link's error when it
   * cannot join, unless the queue pair was detached meanwhile.
   */
  async attach(now: number, qp: Qp, address: IpAddress): Promise<void> {
    const { maxGroups, maxAttached } = this.#options;
    checkAttach(qp, address);
    const known = this.#find(address);
    if (known?.qps.includes(qp)) return known.joined;
    if (known === undefined && this.#groups.length >= maxGroups)
      throw new RoceError('ERR_ROCE_LIMIT', `all ${maxGroups} multicast groups are in use`);
    if ((known?.qps.length ?? 0) >= maxAttached)
      throw new RoceError('ERR_ROCE_LIMIT', `${maxAttached} queue pairs are attached to ${address}`);
    const group = known ?? this.#join(now, address);
    group.qps.push(qp);
    try {
      await group.joined;
    } catch (error) {
      // It was detached meanwhile, as if it had been attached before.
      if (!group.qps.includes(qp)) return;
      if (this.#groups.includes(group)) this.#groups.splice(this.#groups.indexOf(group), 1);
      throw error;
    }
  }

  /** Throws ERR_ROCE_ARGUMENT when the queue pair is not attached to the group. */
  detach(now: number, qp: Qp, address: IpAddress): void {
    const group = this.#find(address);
    if (group === undefined || !group.qps.includes(qp))
      throw new RoceError('ERR_ROCE_ARGUMENT', `the queue pair is not attached to ${address}`);
    this.#remove(now, group, qp);
  }

  /** A queue pair was destroyed. */
  detachAll(now: number, qp: Qp): void {
    if (this.#groups.length === 0) return;
    for (const group of this.#groups.filter(({ qps }) => qps.includes(qp))) this.#remove(now, group, qp);
  }

  /** Queue pairs attached to the group a packet is for; undefined when it is for none of our groups. */
  membersOf(frame: Frame): readonly Qp[] | undefined {
    for (let i = 0; i < this.#groups.length; i++) {
      const group = this.#groups[i] as Group;
      if (frameDestinationIs(frame, group.address)) return group.qps;
    }
    return undefined;
  }

  #join(now: number, address: IpAddress): Group {
    this.reports?.join(now, address);
    const joined = this.reports === undefined ? joinAt(this.#options.host, address) : Promise.resolve();
    const group = { address, qps: [], joined };
    this.#groups.push(group);
    return group;
  }

  #remove(now: number, group: Group, qp: Qp): void {
    group.qps.splice(group.qps.indexOf(qp), 1);
    if (group.qps.length > 0) return;
    this.#groups.splice(this.#groups.indexOf(group), 1);
    if (this.reports === undefined) this.#options.host.leaveGroup?.(group.address);
    else this.reports.leave(now, group.address);
  }

  #find(address: IpAddress): Group | undefined {
    return this.#groups.find((group) => group.address.equals(address));
  }
}

function checkAttach(qp: Qp, address: IpAddress): void {
  if (qp.type !== QpType.Ud)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'only UD queue pairs are attached to multicast groups');
  if (!address.isMulticast) throw new RoceError('ERR_ROCE_ARGUMENT', `${address} is not a multicast group`);
}

async function joinAt(host: GroupHost, address: IpAddress): Promise<void> {
  if (host.joinGroup === undefined)
    throw new RoceError('ERR_ROCE_UNSUPPORTED', 'this link leaves groups to the kernel, and cannot ask it to join one');
  await host.joinGroup(address);
}
