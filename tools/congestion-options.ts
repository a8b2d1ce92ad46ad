/**
 * Congestion control on a command line: `--cc` chooses how queue pairs react to notifications, the other flags say with
 * which numbers. Owns the flags and their units; what they mean is transport/congestion's, which also checks them.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { defined, RoceError } from 'rocev2/packets';
import { type CongestionOptions, makeController, notificationParameters } from 'rocev2/transport';

/** What the flags of `addCongestionOptions` give. */
export interface CongestionFlags {
  readonly cc?: CcKind;
  readonly lineRate?: number;
  readonly ccSet?: Readonly<Record<string, number | boolean>>;
  readonly cnpInterval?: number;
}

type CcKind = { readonly kind: 'none' | 'paper' | 'mlx' } | { readonly kind: 'fixed'; readonly rateBps: number };

export function addCongestionOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--cc <control>',
        'congestion control: our packets say they are ECN-capable, a received mark is answered with a CNP, and a received CNP lowers the rate by DCQCN (paper, mlx), or not (none, or fixed:RATE in bits a second)',
      ).argParser(control),
    )
    .option('--line-rate <bits/s>', 'with --cc: the rate that flows start at, such as 25g (default: 10g)', rate)
    .option('--cc-set <name=value>', 'with --cc paper or mlx: a parameter of the profile; may be repeated', parameter)
    .option('--cnp-interval <us>', 'with --cc: at most one CNP per flow in this time (default: 50)', microseconds)
    .hook('preAction', () => {
      const flags = command.opts<CongestionFlags>();
      if (flags.cc === undefined && (flags.lineRate ?? flags.ccSet ?? flags.cnpInterval) !== undefined)
        command.error('error: --line-rate, --cc-set and --cnp-interval need --cc');
      try {
        check(congestionOptions(flags));
      } catch (error) {
        if (!(error instanceof RoceError)) throw error;
        command.error(`error: ${error.message}`);
      }
    });
}

/**
 * The options of a device; undefined where no flag asked for any. @throws RoceError for `--cc-set` with what has no
 * parameters
 */
export function congestionOptions({
  cc,
  lineRate,
  ccSet,
  cnpInterval,
}: CongestionFlags): CongestionOptions | undefined {
  if (cc === undefined) return undefined;
  return {
    reaction: reactionOf(cc, ccSet),
    ...defined({ lineRateBps: lineRate }),
    ...(cnpInterval === undefined ? {} : { notification: { minTimeBetweenCnpsNs: cnpInterval * 1000 } }),
  };
}

function reactionOf(cc: CcKind, parameters: CongestionFlags['ccSet']): NonNullable<CongestionOptions['reaction']> {
  // The names are checked by the profile.
  if (cc.kind === 'paper' || cc.kind === 'mlx') return { kind: 'dcqcn', profile: cc.kind, ...defined({ parameters }) };
  if (parameters !== undefined) throw new RoceError('ERR_ROCE_ARGUMENT', '--cc-set is for --cc paper and --cc mlx');
  return cc.kind === 'fixed' ? { kind: 'fixed-rate', rateBps: cc.rateBps } : { kind: 'none' };
}

function check(options: CongestionOptions | undefined): void {
  if (options?.reaction === undefined) return;
  makeController(options.reaction, options.lineRateBps ?? 10e9);
  if (typeof options.notification === 'object') notificationParameters(options.notification);
}

function control(text: string): CcKind {
  if (text === 'none' || text === 'paper' || text === 'mlx') return { kind: text };
  if (text.startsWith('fixed:')) return { kind: 'fixed', rateBps: rate(text.slice('fixed:'.length)) };
  throw new InvalidArgumentError('none, paper, mlx or fixed:RATE is expected');
}

/** A number with k, m or g behind it. */
function rate(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,12}(?:\.\d+)?)([kmg]?)$/i.exec(text) ?? [];
  const value = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (!(value >= 1 && value <= 1e13)) throw new InvalidArgumentError('bits a second are expected, such as 500m or 10g');
  return value;
}

function parameter(text: string, previous: CongestionFlags['ccSet'] = {}): NonNullable<CongestionFlags['ccSet']> {
  const [, name = '', value = ''] = /^([A-Za-z]+)=(.+)$/.exec(text) ?? [];
  const parsed = value === 'true' ? true : value === 'false' ? false : Number(value);
  if (name === '' || value === '' || Number.isNaN(parsed))
    throw new InvalidArgumentError('the name of a parameter, an equals sign and a number are expected');
  return { ...previous, [name]: parsed };
}

function microseconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1e6)) throw new InvalidArgumentError('0 to 1000000 is expected');
  return value;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };
