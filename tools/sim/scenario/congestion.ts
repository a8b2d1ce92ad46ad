/**
 * `congestion` of a scenario: how senders react and what receivers notify. Owns names and words of the fields; ranges
 * of the parameters of DCQCN are those of transport/congestion, which `check.ts` asks.
 */

import {
  DEFAULT_NOTIFICATION,
  MLX_DEFAULTS,
  type MlxParameters,
  type NotificationParameters,
  PAPER_DEFAULTS,
  type PaperParameters,
} from 'rocev2/transport';
import { z } from 'zod';
import { choice, count, rateBps, sizeBytes, timeNs } from './fields.ts';

/** A field for every parameter, all optional: an absent one has its profile's default, which the reference tells. */
function parametersSchema<T extends object>(defaults: T, about: Readonly<Record<keyof T, string>>) {
  const shape = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const schema = typeof value === 'boolean' ? z.boolean() : z.number('A number is expected');
      // The two records have the same keys: the type says so.
      const words = about[name as keyof T];
      return [name, schema.exactOptional().meta({ description: words, profileDefault: value })];
    }),
  );
  // What zod infers of a shape made from data is less than what is known of it.
  return z.strictObject(shape) as unknown as z.ZodType<Partial<T>>;
}

const reactionSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('none') }).meta({ description: 'Notifications are counted and ignored.' }),
    z
      .strictObject({ kind: z.literal('fixed-rate'), rateBps: rateBps('Of every flow.') })
      .meta({ description: 'Every flow has one rate, whatever happens.' }),
    z.discriminatedUnion('profile', [
      z
        .strictObject({
          kind: z.literal('dcqcn'),
          profile: z.literal('paper'),
          parameters: parametersSchema<PaperParameters>(PAPER_DEFAULTS, {
            cnpTimerNs: 'tau: time between two notifications of a flow; bounds `alphaTimerNs`.',
            alphaTimerNs: "tau': alpha decays once in this time without a notification.",
            rateTimerNs: 'T: time between two increases.',
            byteCounterBytes: 'B: bytes between two increases; 0: no byte counter.',
            fastRecoveryStages: 'F: rounds of fast recovery.',
            g: 'g: how fast alpha follows.',
            aiRateBps: 'R_AI: growth of the target in additive increase.',
            haiRateBps: 'R_HAI: growth of the target in hyper increase.',
            minRateBps: 'A flow is never slower than this.',
          })
            .exactOptional()
            .meta({ description: 'Parameters that are not to have their defaults.' }),
        })
        .meta({ description: 'DCQCN as its authors analysed it.' }),
      z
        .strictObject({
          kind: z.literal('dcqcn'),
          profile: z.literal('mlx'),
          parameters: parametersSchema<MlxParameters>(MLX_DEFAULTS, {
            clampTgtRate: 'CLAMP_TGT_RATE: every cut sets the target to the rate before it.',
            clampTgtRateAfterTimeInc:
              'CLAMP_TGT_RATE_AFTER_TIME_INC: a cut does so when the timer has raised the rate.',
            rpgTimeResetNs: 'RPG_TIME_RESET: time between two increases.',
            rpgByteResetBytes: 'RPG_BYTE_RESET: bytes between two increases; 0: no byte counter.',
            rpgThreshold: 'RPG_THRESHOLD: rounds of fast recovery.',
            rpgMaxRateBps:
              'RPG_MAX_RATE: a flow that has recovered to this is no longer limited; 0: the rate of the port.',
            rpgMinRateBps: 'RPG_MIN_RATE: a flow is never slower than this.',
            rpgAiRateBps: 'RPG_AI_RATE: growth of the target in additive increase.',
            rpgHaiRateBps: 'RPG_HAI_RATE: growth of the target in hyper increase.',
            rpgGd: 'RPG_GD: log2 of what alpha, in 1/1024, is divided by to become the share cut off.',
            rpgMinDecFac: 'RPG_MIN_DEC_FAC: what a single cut leaves at least, in percent.',
            rateToSetOnFirstCnpBps: 'RATE_TO_SET_ON_FIRST_CNP: rate after the first notification; 0: as it is.',
            dceTcpG: 'DCE_TCP_G: 1024 (1 - g).',
            dceTcpRttNs: 'DCE_TCP_RTT: alpha is updated once in this time.',
            rateReduceMonitorPeriodNs: 'RATE_REDUCE_MONITOR_PERIOD: at most one cut in this time.',
            initialAlphaValue: 'INITIAL_ALPHA_VALUE: alpha after the first notification, in 1/1024.',
          })
            .exactOptional()
            .meta({ description: 'Knobs that are not to have their defaults.' }),
        })
        .meta({ description: "DCQCN with the knobs of NVIDIA's adapters." }),
    ]),
  ])
  .default({ kind: 'none' })
  .meta({ description: 'How a sender reacts to notifications.' });

const notificationSchema = z
  .strictObject({
    minTimeBetweenCnpsNs: timeNs('MIN_TIME_BETWEEN_CNPS: at most one CNP of a flow in this time.').default(
      DEFAULT_NOTIFICATION.minTimeBetweenCnpsNs,
    ),
    spacing: choice(
      'What that time is counted from: `gap`, the last CNP, as NICs do; `period`, the first mark on, one CNP in each period, as the fluid model and the authors have it.',
      ['gap', 'period'],
    ).default(DEFAULT_NOTIFICATION.spacing),
    cnpDscp: count('CNP_DSCP: DSCP of CNPs, whose upper three bits are their priority.', 0, 63).default(
      DEFAULT_NOTIFICATION.cnpDscp,
    ),
    becn: z
      .literal([0, 1], '0 or 1 is expected')
      .default(DEFAULT_NOTIFICATION.becn)
      .meta({ description: 'The BECN bit of CNPs.' }),
    signal: choice('By CNPs, or by a mark in every ACK of a marked packet, as the simulator of HPCC has it.', [
      'cnp',
      'ack',
    ]).default(DEFAULT_NOTIFICATION.signal),
  })
  .meta({
    description: 'What a receiver of marked packets does; `false`: nothing.',
  }) satisfies z.ZodType<NotificationParameters>;

export const congestionSchema = z
  .strictObject({
    reaction: reactionSchema,
    notification: z
      .union([z.literal(false), notificationSchema])
      .default({ ...DEFAULT_NOTIFICATION })
      .meta({ description: 'What a receiver of marked packets does; `false`: nothing.' }),
    maxBurstBytes: sizeBytes('How far a sender that was late may catch up with its rate.').default(0),
  })
  .meta({
    description:
      'Congestion control of the hosts. Absent: their packets say that they have none, and nothing is marked.',
  });
