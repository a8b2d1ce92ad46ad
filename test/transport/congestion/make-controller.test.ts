/**
 * Goal: plain data becomes the controller it names, or is refused. Method: every kind, and what types keep out but
 * files do not.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import type { ControllerSpec } from '../../../transport/congestion/congestion-options.ts';
import { MlxReactionPoint } from '../../../transport/congestion/dcqcn-mlx.ts';
import { PaperReactionPoint } from '../../../transport/congestion/dcqcn-paper.ts';
import { FixedRate } from '../../../transport/congestion/fixed-rate.ts';
import { makeController } from '../../../transport/congestion/make-controller.ts';

const LINE = 10e9;

describe('makeController', () => {
  it('makes none of none', () => {
    expect(makeController({ kind: 'none' }, LINE)).toBeUndefined();
  });

  it('makes what is named, with the parameters that are given', () => {
    expect(makeController({ kind: 'fixed-rate', rateBps: 1e9 }, LINE)).toBeInstanceOf(FixedRate);
    expect(makeController({ kind: 'dcqcn', profile: 'mlx' }, LINE)).toBeInstanceOf(MlxReactionPoint);
    const paper = makeController({ kind: 'dcqcn', profile: 'paper', parameters: { minRateBps: 6e9 } }, LINE);
    expect(paper).toBeInstanceOf(PaperReactionPoint);
    paper?.notified(0);
    expect(paper?.rateBps(0)).toBe(6e9);
  });

  it.each([
    ['{"kind":"bbr"}', "there is no congestion control of kind 'bbr'"],
    ['{"kind":"dcqcn","profile":"intel"}', "there is no congestion control of profile 'intel'"],
    ['{"kind":"dcqcn"}', "there is no congestion control of profile 'undefined'"],
    [
      '{"kind":"dcqcn","profile":"paper","parameters":{"g":0}}',
      /^g of DCQCN's paper profile is a number from .* to 1, not 0$/,
    ],
    [
      '{"kind":"dcqcn","profile":"mlx","parameters":{"rpgGd":9}}',
      /^rpgGd of DCQCN's mlx profile is a whole number from 10 to 11, not 9$/,
    ],
    ['{"kind":"fixed-rate","rateBps":0}', 'rateBps of a fixed rate is 1 or more, not 0'],
    ['{"kind":"fixed-rate"}', 'rateBps of a fixed rate is 1 or more, not undefined'],
  ])('refuses %s', (json, message) => {
    const spec: ControllerSpec = JSON.parse(json);
    expect(() => makeController(spec, LINE)).toThrow(RoceError);
    expect(() => makeController(spec, LINE)).toThrow(message);
  });

  it.each([0, -1, Number.NaN, Infinity])('refuses a line rate of %d', (lineRateBps) => {
    expect(() => makeController({ kind: 'none' }, lineRateBps)).toThrow(/^lineRateBps is a finite number from 1/);
  });
});

describe('a fixed rate', () => {
  it('stays what it is, whatever happens', () => {
    const controller = makeController({ kind: 'fixed-rate', rateBps: 1e9 }, LINE);
    for (let now = 0; now < 100; now++) {
      controller?.notified(now);
      controller?.sent(now, 1e6);
      expect(controller?.rateBps(now)).toBe(1e9);
    }
    expect(controller).toMatchObject({ currentRateBps: 1e9, targetRateBps: 1e9, alpha: 0 });
  });

  it.each([LINE, 2 * LINE, Infinity])('of %d on a port of 10 Gb/s is no limit', (rateBps) => {
    const controller = makeController({ kind: 'fixed-rate', rateBps }, LINE);
    expect(controller?.rateBps(0)).toBe(Infinity);
    expect(controller).toMatchObject({ currentRateBps: LINE, targetRateBps: LINE });
  });
});
