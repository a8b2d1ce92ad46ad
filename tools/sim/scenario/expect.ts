/**
 * `expect` of a scenario: what must hold of its figures. Owns names and words of the fields; `run/judge.ts` decides.
 */

import { RoceError } from 'rocev2/packets';
import { z } from 'zod';
import { choice, sizeBytes, timeNs, words } from './fields.ts';
import { parseFigure } from './figures.ts';

const figure = (about: string) =>
  z
    .string()
    .check((context) => {
      try {
        parseFigure(context.value);
      } catch (error) {
        if (!(error instanceof RoceError)) throw error;
        context.issues.push({ code: 'custom', message: error.message, input: context.value });
      }
    })
    .meta({ description: about });

/** Which part of a result a figure is taken of. */
const selection = {
  variant: words('Of this variant of `compare`; default every one, each with a verdict of its own.').exactOptional(),
  group: words('Of the flows of this group alone.').exactOptional(),
  queue: words('Of this port, such as `switch0:16`; default all that are probed.').exactOptional(),
  minBytes: sizeBytes('Of flows of this size and more.').exactOptional(),
  maxBytes: sizeBytes('Of flows up to this size.').exactOptional(),
  fromNs: timeNs('Of samples from this time on.').exactOptional(),
  toNs: timeNs('Of samples before this time.').exactOptional(),
};

const FLUID_FIGURES = [
  'queueBytes',
  'rateBps',
  'targetRateBps',
  'alpha',
  'markingProbability',
  'convergenceNs',
  'phaseMargin',
] as const;
export type FluidFigure = (typeof FLUID_FIGURES)[number];

const times = z
  .number('A number is expected')
  .default(1)
  .meta({ description: 'The value is this many times the other figure.' });

const valueSchema = z
  .union(
    [
      z.number(),
      z
        .strictObject({
          figure: figure('Another figure; default the same.').exactOptional(),
          ...selection,
          times,
        })
        .meta({
          description:
            'Another figure of this run, as `{ "variant": "lossless", "times": 0.5 }`. Group, sizes, queue and time are those of the expectation where it names no others.',
        }),
      z
        .strictObject({
          fluid: choice(
            'A value of the fluid model: of its fixed point, its bound on convergence, its phase margin in degrees.',
            FLUID_FIGURES,
          ),
          times,
        })
        .meta({ description: 'The prediction of the fluid model.' }),
    ],
    'A number, { "variant": ... } or { "fluid": ... } is expected',
  )
  .meta({
    description:
      'What the figure is compared with: a number, another figure of this run, or a value of the fluid model.',
  });

export const expectationSchema = z.strictObject({
  figure: figure('What is looked at; the figures are listed below.'),
  ...selection,
  operator: choice('How it is compared; `~` is within `tolerance` of the value.', ['<', '<=', '>', '>=', '==', '~']),
  value: valueSchema,
  tolerance: z
    .number()
    .gt(0, 'A tolerance above 0 is expected')
    .default(0.1)
    .meta({ description: 'For `~`: how far it may be off, as a part of the value.' }),
  why: words('What it shows, in a sentence for the reader.').exactOptional(),
});

export type FigureExpectation = z.infer<typeof expectationSchema>;
export type Selection = Partial<Pick<FigureExpectation, keyof typeof selection>>;
