/**
 * A scenario as its file describes it: network, traffic, what is watched, what has to come out. Owns the shape of the
 * whole; the parts have files of their own. Fields that are not named here are refused, and each has the words that
 * `roce sim fields` prints.
 */
import { z } from 'zod';
import { congestionSchema } from './congestion.ts';
import { expectationSchema } from './expect.ts';
import { count, flag, name, rateBps, share, timeNs, words } from './fields.ts';
import { hostSchema, switchesSchema } from './switches.ts';
import { topologySchema } from './topology.ts';
import { trafficSchema } from './traffic.ts';

const probeSchema = z
  .strictObject({
    intervalNs: timeNs('Time between two samples.', 1),
    fromNs: timeNs('The first sample.').default(0),
    queues: z.array(z.string().min(1)).exactOptional().meta({
      description:
        'Ports whose queues are sampled, such as `switch0:16`; default the last hop of every receiver, 8 at most.',
    }),
    flows: z
      .union([z.boolean(), z.array(z.int().min(0))], 'true, false or a list of flows is expected')
      .default(true)
      .meta({
        description:
          'Whether rates and alpha of flows are sampled, or of which, by their places in the list of all flows.',
      }),
    maxPoints: count('Points of one series at most; of more, every second one is left out.', 16, 1 << 22).default(4096),
    queueSampleNs: timeNs(
      'Time between two looks at the queues for `queueBytes`, which are not kept one by one.',
      1,
    ).default(997),
  })
  .meta({ description: 'What is sampled over time. Absent: nothing, so there are no plots over time.' });

const windowSchema = z
  .strictObject({
    fromNs: timeNs('From here on.'),
    toNs: timeNs('To here; default the end of the run.', 1).exactOptional(),
  })
  .refine(({ fromNs, toNs = Infinity }) => fromNs < toNs, { path: ['toNs'], error: 'A time after fromNs is expected' })
  .meta({ description: 'The time over which queues and `windowBps` are measured. Absent: all of it.' });

const fluidSchema = z
  .strictObject({
    capacityBps: rateBps('C: rate of the bottleneck; default that of the link to the first receiver.').exactOptional(),
    packetBits: z
      .number()
      .gt(0)
      .default(8000)
      .meta({ description: 'Bits of a packet: the model counts in packets.', unit: 'bit' }),
    flows: count('N; default the flows of the traffic.', 1).exactOptional(),
    feedbackDelayNs: timeNs(
      'tau*: until a sender feels what the queue did; default the round trip of an idle network.',
    ).exactOptional(),
    variants: z.array(z.string().min(1)).exactOptional().meta({
      description:
        'Variants it is computed for; default all with DCQCN and marks. Of the `mlx` profile it knows the clocks, not hyper increase.',
    }),
  })
  .meta({ description: 'The fluid model of DCQCN beside the simulation. Absent: none.' });

/** One variant: everything that is simulated. */
export const variantShape = {
  seed: count('Of all chance: traffic, marking, loss, and the ways packets take.', 0).default(1),
  topology: topologySchema.meta({ description: 'Hosts, switches and links.' }),
  clockwise: flag(
    'On a ring: everything goes one way round, so that buffers can wait for each other in a circle.',
  ).default(false),
  switches: switchesSchema.prefault({}),
  host: hostSchema.prefault({}),
  congestion: congestionSchema.exactOptional(),
  traffic: z.array(trafficSchema).min(1, 'Some traffic is expected').meta({ description: 'Groups of flows.' }),
  mtu: z
    .literal([256, 512, 1024, 2048, 4096], 'A path MTU of 256, 512, 1024, 2048 or 4096 is expected')
    .default(1024)
    .meta({ description: 'Path MTU: payload of a packet at most.', unit: 'bytes' }),
  loss: share('Chance that a link loses a frame.').default(0),
  stopNs: timeNs(
    'The run ends here at the latest. Needed with endless flows; otherwise it ends when all flows have.',
    1,
  ).exactOptional(),
  window: windowSchema.exactOptional(),
  probe: probeSchema.exactOptional(),
  fluid: fluidSchema.exactOptional(),
} as const;

const headShape = {
  $schema: z.string().exactOptional().meta({ description: 'For editors: what `roce sim schema` prints.' }),
  name: name('By which it is known: lower-case letters, digits, dots, hyphens.'),
  title: words('One line.'),
  about: words('What a reader learns from it.'),
  source: words('Where the figure, table or claim it reproduces is from.').exactOptional(),
} as const;

const compareSchema = z
  .record(name('A name.'), z.record(z.string(), z.unknown()))
  .refine((variants) => Object.keys(variants).length > 0, 'At least one variant is expected')
  .meta({
    description:
      'Variants by name, run side by side: each a partial override of this file (JSON Merge Patch: objects are merged, null takes a field away). Absent: one variant, the file itself.',
  });

export const scenarioSchema = z
  .strictObject({
    ...headShape,
    ...variantShape,
    compare: compareSchema.exactOptional(),
    expect: z.array(expectationSchema).default([]).meta({ description: 'What must hold; each is a verdict.' }),
  })
  .meta({ description: 'A scenario.' });

export const variantSchema = z.strictObject(variantShape);

/** The whole file, defaults in place. */
export type SimScenario = z.infer<typeof scenarioSchema>;
/** What is simulated. */
export type Variant = z.infer<typeof variantSchema>;
/** A scenario without what is not simulated is a variant. */
export const HEAD_FIELDS = [...Object.keys(headShape), 'compare', 'expect'] as const;
