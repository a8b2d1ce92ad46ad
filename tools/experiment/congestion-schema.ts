/**
 * `congestion` of a host of kind "stack", as a file carries it: `CongestionOptions`. Owns the shape; names and ranges
 * of the parameters of DCQCN are checked by transport/congestion, as for options made in a program.
 */

import { RoceError } from 'rocev2/packets';
import {
  type CongestionOptions,
  type ControllerSpec,
  type MlxParameters,
  makeController,
  notificationParameters,
  type PaperParameters,
} from 'rocev2/transport';
import { z } from 'zod';

const parametersOf = <T>() =>
  z.custom<Partial<T>>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((one) => typeof one === 'number' || typeof one === 'boolean'),
    'Numbers and truth values by the names of parameters are expected',
  );

const reactionSchema: z.ZodType<ControllerSpec> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }),
  z.strictObject({ kind: z.literal('fixed-rate'), rateBps: z.number().min(1) }),
  z.discriminatedUnion('profile', [
    z.strictObject({
      kind: z.literal('dcqcn'),
      profile: z.literal('paper'),
      parameters: parametersOf<PaperParameters>().exactOptional(),
    }),
    z.strictObject({
      kind: z.literal('dcqcn'),
      profile: z.literal('mlx'),
      parameters: parametersOf<MlxParameters>().exactOptional(),
    }),
  ]),
]);

export const congestionSchema: z.ZodType<CongestionOptions> = z
  .strictObject({
    reaction: reactionSchema.exactOptional(),
    notification: z
      .union([
        z.literal(false),
        z.strictObject({
          minTimeBetweenCnpsNs: z.number().exactOptional(),
          spacing: z.enum(['gap', 'period']).exactOptional(),
          cnpDscp: z.number().exactOptional(),
          becn: z.union([z.literal(0), z.literal(1)]).exactOptional(),
          signal: z.enum(['cnp', 'ack']).exactOptional(),
        }),
      ])
      .exactOptional(),
    lineRateBps: z.number().min(1).exactOptional(),
    maxBurstBytes: z.int().min(0).exactOptional(),
  })
  .check((context) => {
    const { reaction = { kind: 'none' }, notification = {}, lineRateBps = DEFAULT_LINE_RATE_BPS } = context.value;
    try {
      makeController(reaction, lineRateBps);
      if (notification !== false) notificationParameters(notification);
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input: context.value });
    }
  });

/** That of `CongestionOptions`. */
const DEFAULT_LINE_RATE_BPS = 10e9;
