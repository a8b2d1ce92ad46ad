/**
 * From plain data to a controller: the one place that knows all of them. Owns the choice; the rules are the
 * controllers'.
 */
import { RoceError } from '../../packets/errors.ts';
import type { ControllerSpec } from './congestion-options.ts';
import { MlxReactionPoint } from './dcqcn-mlx.ts';
import { PaperReactionPoint } from './dcqcn-paper.ts';
import { FixedRate } from './fixed-rate.ts';
import type { RateController } from './rate-controller.ts';

/**
 * The controller of one flow on a port of `lineRateBps` bits a second; undefined for kind 'none'.
 * @throws RoceError ERR_ROCE_ARGUMENT naming what is unknown or out of range
 */
export function makeController(spec: ControllerSpec, lineRateBps: number): RateController | undefined {
  if (!(lineRateBps >= 1 && lineRateBps < Infinity))
    throw new RoceError('ERR_ROCE_ARGUMENT', `lineRateBps is a finite number from 1, not ${lineRateBps}`);
  switch (spec.kind) {
    case 'none':
      return undefined;
    case 'fixed-rate':
      return new FixedRate(spec.rateBps, lineRateBps);
    case 'dcqcn':
      return makeDcqcn(spec, lineRateBps);
    default:
      return unknown('kind', spec);
  }
}

function makeDcqcn(spec: ControllerSpec & { kind: 'dcqcn' }, lineRateBps: number): RateController {
  switch (spec.profile) {
    case 'paper':
      return new PaperReactionPoint(spec.parameters ?? {}, lineRateBps);
    case 'mlx':
      return new MlxReactionPoint(spec.parameters ?? {}, lineRateBps);
    default:
      return unknown('profile', spec);
  }
}

/** Specs come out of files and messages: types do not keep these out. */
function unknown(field: string, spec: never): never {
  const value: unknown = Reflect.get(Object(spec), field);
  throw new RoceError('ERR_ROCE_ARGUMENT', `there is no congestion control of ${field} '${String(value)}'`);
}
