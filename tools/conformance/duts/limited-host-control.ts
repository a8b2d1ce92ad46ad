/**
 * Host control of a device that lacks features: its description does not have them, and verbs refuse what takes them,
 * as a driver refuses what its hardware does not do. All else goes to the host control of the device beneath.
 */
import type { DeviceLimits } from 'rocev2';
import {
  type AccessFlag,
  FEATURES,
  type Feature,
  type HostCall,
  type HostCalls,
  type HostControl,
  HostControlError,
  type SendOpcode,
} from '../host-control/host-control.ts';

/** What is missing. */
export interface Missing {
  readonly lacks: readonly Feature[];
  readonly limits: Partial<DeviceLimits>;
}

/** Host control that is less. */
export function limitedHostControl(control: HostControl, { lacks, limits }: Missing): HostControl {
  const description = {
    ...control.description,
    features: control.description.features.filter((feature) => !lacks.includes(feature)),
  };
  return {
    description,
    call: <C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<HostCalls[C]['gives']> => {
      const why = refusal({ name, args }, lacks) ?? excess({ name, args }, limits);
      return why === undefined ? control.call(name, args) : Promise.reject(why);
    },
    close: () => control.close(),
  };
}

/** Host control that does what it did, and notes every feature that is asked about or used. */
export function notingHostControl(control: HostControl, note: (feature: Feature) => void): HostControl {
  const features: Feature[] = [...control.description.features];
  features.includes = (feature) => {
    note(feature);
    return control.description.features.includes(feature);
  };
  return {
    description: { ...control.description, features },
    call: <C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<HostCalls[C]['gives']> => {
      for (const feature of FEATURES) if (TAKES[feature]({ name, args })) note(feature);
      return control.call(name, args);
    },
    close: () => control.close(),
  };
}

/** A call, to be looked at whatever it takes. */
interface Call {
  readonly name: HostCall;
  readonly args: Readonly<{
    type?: string;
    srq?: number;
    udp?: boolean;
    msn?: number;
    opcode?: SendOpcode;
    access?: readonly AccessFlag[];
    bind?: { readonly access: readonly AccessFlag[] };
    maxDestRdAtomic?: number;
    maxRdAtomic?: number;
    flowControl?: boolean;
    altPath?: object;
    pathMigState?: string;
    xrcd?: number;
  }>;
}

function refusal(call: Call, lacks: readonly Feature[]): HostControlError | undefined {
  const missing = lacks.find((feature) => TAKES[feature](call));
  return missing && new HostControlError('unsupported', 'EOPNOTSUPP', `the device has no ${missing}`);
}

function excess({ args }: Call, { maxQpRdAtom = 255 }: Partial<DeviceLimits>): HostControlError | undefined {
  if ((args.maxDestRdAtomic ?? 0) <= maxQpRdAtom && (args.maxRdAtomic ?? 0) <= maxQpRdAtom) return undefined;
  return new HostControlError('refused', 'EINVAL', `the device has ${maxQpRdAtom} READs and atomics at a time`);
}

const grants = ({ args }: Call, flag: AccessFlag): boolean =>
  args.access?.includes(flag) === true || args.bind?.access.includes(flag) === true;

/** Whether a call takes the feature. */
const TAKES: Readonly<Record<Feature, (call: Call) => boolean>> = {
  uc: ({ name, args }) => name === 'qp.create' && args.type === 'uc',
  ud: ({ name, args }) => (name === 'qp.create' && args.type === 'ud') || name === 'ah.create' || args.udp === true,
  srq: ({ name, args }) => name.startsWith('srq.') || (name === 'qp.create' && args.srq !== undefined),
  mw2: (call) => call.name.startsWith('mw.') || call.args.opcode === 'bind-mw' || grants(call, 'mw-bind'),
  atomics: (call) =>
    call.args.opcode === 'cmp-swap' || call.args.opcode === 'fetch-add' || grants(call, 'remote-atomic'),
  flush: (call) => call.args.opcode === 'flush' || grants(call, 'flush-global') || grants(call, 'flush-persistent'),
  'atomic-write': ({ args }) => args.opcode === 'atomic-write',
  mcast: ({ name }) => name.startsWith('mcast.'),
  cm: ({ name }) => name.startsWith('cm.'),
  cnp: () => false,
  'preset-msn': ({ name, args }) => name === 'qp.create' && args.msn !== undefined,
  credits: ({ args }) => args.flowControl !== undefined,
  apm: ({ args }) => args.altPath !== undefined || args.pathMigState !== undefined,
  xrc: ({ args }) => args.xrcd !== undefined,
  'last-wqe': () => false,
};
