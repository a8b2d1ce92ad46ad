/**
 * Brings a queue pair of the device to a state, by the host control: region, buffers, receives, attributes. The calls
 * are made at once and answered in order, so that a connection costs one round trip to the agent.
 */
import { defined } from 'rocev2/packets';
import type { Prng } from 'rocev2/sim';
import type {
  AccessFlag,
  HostControl,
  HostHandle,
  HostQpAttributes,
  QpStateName,
  QpTypeName,
} from '../host-control/host-control.ts';
import type { DutAddress } from './dut.ts';
import { NotApplicable } from './outcome.ts';
import { type PeerHost, type Region, TesterPeer } from './peer.ts';

/** How a connection is to be; what is absent is as the tester likes it. */
export interface TesterConnectOptions {
  /** Default RC. */
  readonly type?: QpTypeName;
  /** IP version; default the device's first address. */
  readonly version?: 4 | 6;
  /** First PSN of ours, which the device expects; default `Tester.psn`. */
  readonly psn?: number;
  /** First PSN of the device; default by chance. */
  readonly dutPsn?: number;
  /** Path MTU; default 256, so that messages of several packets are small. */
  readonly mtu?: number;
  /** What the queue pair lets its peer do; default all that RC can. */
  readonly access?: readonly AccessFlag[];
  /** What the region lets peers do; default all. */
  readonly regionAccess?: readonly AccessFlag[];
  /** Bytes of the region; default 8,192. */
  readonly regionBytes?: number;
  /**
   * Receives that are posted, of `receiveBytes` each; default 16 of 1,024. Their wrIds are 1, 2, ...; they lie one
   * after the other.
   */
  readonly receives?: number;
  readonly receiveBytes?: number;
  readonly maxDestRdAtomic?: number;
  readonly maxRdAtomic?: number;
  /** Default 12: 0.64 ms. */
  readonly minRnrTimer?: number;
  /** Default 14: 67 ms. */
  readonly timeout?: number;
  readonly retryCnt?: number;
  readonly rnrRetry?: number;
  /** How far to go; default RTS. */
  readonly state?: 'RESET' | 'INIT' | 'RTR' | 'RTS';
  /** Receives come from here. */
  readonly srq?: HostHandle;
  /** A protection domain, a region and completion queues that exist. */
  readonly pd?: HostHandle;
  readonly region?: Region;
  readonly sendCq?: HostHandle;
  readonly recvCq?: HostHandle;
  readonly maxSendWr?: number;
  readonly maxRecvWr?: number;
  readonly hopLimit?: number;
  readonly trafficClass?: number;
  /** UD. */
  readonly qkey?: number;
  /** `Feature` preset-msn. */
  readonly msn?: number;
  /** `Feature` credits: both ends have agreed on end-to-end flow control. */
  readonly flowControl?: boolean;
  /** `Feature` apm: an alternate path that is to be armed, from the address and to ours of that IP version. */
  readonly alternate?: 4 | 6;
  /** `Feature` xrc: an XRC target of that domain; goes to RTR. */
  readonly xrcd?: HostHandle;
  /** Of ours, UDP; default one that goes with our queue pair number. */
  readonly sourcePort?: number;
}

/** What registering memory of the device takes: the host control, and a handle that no object of the case has. */
export interface Registrar {
  readonly hostControl: HostControl;
  handle(): HostHandle;
}

/** What a connection by the host control needs of its case. */
export interface HostConnector extends PeerHost, Registrar {
  readonly random: Prng;
  /** Where our PSNs begin unless the options say otherwise. */
  readonly psn: number;
  /** A free queue pair number of ours. */
  qpn(): number;
  /** The address of the device of that version. @throws NotApplicable when it has none */
  address(version?: 4 | 6): DutAddress;
}

export const ALL_ACCESS: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read', 'remote-atomic'];

/** What of these rights a device can give: one without atomics refuses theirs. */
export function grantable({ description }: HostControl, access: readonly AccessFlag[]): readonly AccessFlag[] {
  return description.features.includes('atomics') ? access : access.filter((flag) => flag !== 'remote-atomic');
}
/** Of a UD queue pair of the device when a case does not say. */
export const DUT_QKEY = 0x1111_2222;

export async function connectWithHostControl(t: HostConnector, options: TesterConnectOptions): Promise<TesterPeer> {
  const { hostControl, dut } = t;
  const { activeMtu, maxSge } = hostControl.description;
  const { type = 'rc', mtu = 256, state = 'RTS', receives = 16, receiveBytes = 1024 } = options;
  if (mtu > activeMtu) throw new NotApplicable(`the path MTU of the device is ${activeMtu}`);
  const { address, gidIndex, ours } = t.address(options.version);
  const destMac = await dut.station.macTowards(address);
  const qpn = t.qpn();
  const firstPsn = options.psn ?? t.psn;
  const dutFirstPsn = options.dutPsn ?? t.random.below(0x1_00_00_00);
  const qp = t.handle();
  const pd = options.pd ?? t.handle();
  const sendCq = options.sendCq ?? t.handle();
  const recvCq = options.recvCq ?? t.handle();
  const calls: Promise<unknown>[] = [];
  if (options.pd === undefined) calls.push(hostControl.call('pd.alloc', { pd }));
  for (const [given, cq] of [
    [options.sendCq, sendCq],
    [options.recvCq, recvCq],
  ] as const)
    if (given === undefined) calls.push(hostControl.call('cq.create', { cq, entries: 512 }));
  const region =
    options.region ?? register(t, pd, options.regionBytes ?? 8192, options.regionAccess ?? ALL_ACCESS).region;
  const buffers = register(t, pd, Math.max(8192, receives * receiveBytes), ['local-write']);
  const created = hostControl.call('qp.create', {
    ...{ qp, pd, type, sendCq, recvCq },
    ...defined({ srq: options.srq }),
    ...{ maxSendWr: options.maxSendWr ?? 64, maxRecvWr: options.maxRecvWr ?? 64, maxSge: Math.min(2, maxSge) },
    ...defined({ msn: options.msn, xrcd: options.xrcd }),
  });
  const path = {
    destination: ours.toString(),
    sgidIndex: gidIndex,
    ...defined({ hopLimit: options.hopLimit, trafficClass: options.trafficClass }),
  };
  const moves = attributesOf(hostControl, type, options, { path, qpn, firstPsn, dutFirstPsn, mtu });
  if (options.alternate !== undefined) {
    const { gidIndex: sgidIndex, ours: to } = t.address(options.alternate);
    const altPath = { destination: to.toString(), sgidIndex };
    moves.RTS = { ...moves.RTS, altPath, pathMigState: 'REARM' };
  }
  const states: readonly QpStateName[] = ['RESET', 'INIT', 'RTR', 'RTS'];
  for (const to of ['INIT', 'RTR', 'RTS'] as const) {
    if (states.indexOf(to) > states.indexOf(state)) break;
    calls.push(hostControl.call('qp.modify', { qp, state: to, ...moves[to] }));
    if (to !== 'INIT' || options.srq !== undefined) continue;
    for (let i = 0; i < receives; i++) {
      const pieces = [{ mr: buffers.mr, offset: i * receiveBytes, length: receiveBytes }];
      calls.push(hostControl.call('qp.recv', { qp, wrId: i + 1, pieces }));
    }
  }
  const [{ qpn: dutQpn }, made, buffered] = await Promise.all([created, region, buffers.region, ...calls]);
  return new TesterPeer(t, {
    ...{ type, qpn, dutQpn, firstPsn, dutFirstPsn, mtu, qp, pd, sendCq, recvCq, region: made, buffers: buffered },
    route: {
      medium: dut.station.medium,
      sourceMac: dut.station.mac,
      destMac,
      source: ours,
      destination: address,
      trafficClass: 0,
      hopLimit: 64,
      flowLabel: 0,
      sourcePort: options.sourcePort ?? 0xc0_00 + (qpn & 0x3f_ff),
    },
  });
}

/** Registers zeroed memory; its name is known at once. */
export function register(
  t: Registrar,
  pd: HostHandle,
  length: number,
  access: readonly AccessFlag[],
): { readonly mr: HostHandle; readonly region: Promise<Region> } {
  const mr = t.handle();
  const rights = grantable(t.hostControl, access);
  const registered = t.hostControl.call('mr.reg', { mr, pd, length, access: rights });
  return { mr, region: registered.then(({ va, rkey, lkey }) => ({ mr, va, rkey, lkey, length })) };
}

interface Ends {
  readonly path: NonNullable<HostQpAttributes['path']>;
  readonly qpn: number;
  readonly firstPsn: number;
  readonly dutFirstPsn: number;
  readonly mtu: number;
}

/** Which attributes each type takes at each move (ibv_modify_qp(3)). */
function attributesOf(
  hostControl: HostControl,
  type: QpTypeName,
  o: TesterConnectOptions,
  ends: Ends,
): Record<'INIT' | 'RTR' | 'RTS', HostQpAttributes> {
  const { path, qpn, firstPsn, dutFirstPsn, mtu } = ends;
  if (type === 'ud')
    return {
      INIT: { port: 1, pkeyIndex: 0, qkey: o.qkey ?? DUT_QKEY },
      RTR: {},
      RTS: { sqPsn: dutFirstPsn },
    };
  const access = grantable(hostControl, o.access ?? (type === 'uc' ? ['local-write', 'remote-write'] : ALL_ACCESS));
  const reliable = type === 'rc';
  const { maxQpRdAtomic } = hostControl.description;
  for (const asked of reliable ? [o.maxDestRdAtomic ?? 0, o.maxRdAtomic ?? 0] : [])
    if (asked > maxQpRdAtomic) throw new NotApplicable(`the device has ${maxQpRdAtomic} READs and atomics at a time`);
  return {
    INIT: { port: 1, pkeyIndex: 0, access },
    RTR: {
      ...{ path, destQpn: qpn, rqPsn: firstPsn, mtu },
      ...(reliable
        ? { maxDestRdAtomic: o.maxDestRdAtomic ?? Math.min(4, maxQpRdAtomic), minRnrTimer: o.minRnrTimer ?? 12 }
        : {}),
      ...defined({ flowControl: o.flowControl }),
    },
    RTS: {
      sqPsn: dutFirstPsn,
      ...(reliable
        ? {
            timeout: o.timeout ?? 14,
            retryCnt: o.retryCnt ?? 3,
            rnrRetry: o.rnrRetry ?? 3,
            maxRdAtomic: o.maxRdAtomic ?? Math.min(4, maxQpRdAtomic),
          }
        : {}),
    },
  };
}
