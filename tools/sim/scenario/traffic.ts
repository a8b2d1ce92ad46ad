/**
 * `traffic` of a scenario: who sends to whom and when. Owns names and words of the fields, and flows that are listed
 * one by one; the patterns are those of src/sim/traffic.
 */

import { type Flow, makeTraffic, Prng, SIZE_DISTRIBUTIONS, type TrafficSpec } from 'rocev2/sim';
import { z } from 'zod';
import { choice, count, name, priority, rateBps, timeNs } from './fields.ts';

const host = (about: string) => count(about, 0, 1e6);
const hosts = (about: string) => z.array(host('A host.')).min(1).meta({ description: about });

const sizesOf = SIZE_DISTRIBUTIONS.map((distribution) => distribution.name);
const tableSchema = z
  .strictObject({
    name: z.string().min(1).meta({ description: 'To show.' }),
    points: z
      .array(z.tuple([z.number().min(0), z.number().min(0).max(1)]))
      .min(2)
      .meta({ description: '[bytes, share of flows that are no larger], both ascending, shares from 0 to 1.' }),
  })
  .meta({ description: 'A table of sizes.' });
const finiteSizes = z.union(
  [z.int().min(1), z.enum(sizesOf), tableSchema],
  `A number of bytes from 1, ${sizesOf.join(', ')} or a table is expected`,
);
const sizes = z
  .union(
    [z.int().min(1), z.enum([...sizesOf, 'endless']), tableSchema],
    `A number of bytes from 1, ${sizesOf.join(', ')}, endless or a table is expected`,
  )
  .meta({
    description: `Size of every flow: bytes, \`${sizesOf.join('`, `')}\` (drawn at random), \`endless\`, or a table.`,
  });

const traits = {
  group: name('Name of these flows in expectations and tables; default the pattern.').exactOptional(),
  operation: choice('What is posted; with `read` the destination asks and the source answers.', [
    'write',
    'send',
    'read',
  ]).default('write'),
  priority: priority('Priority of the packets: the upper three bits of their DSCP.').default(3),
  startNs: timeNs('When the first flow starts.').default(0),
};
const starts = {
  jitterNs: timeNs('Every flow starts later by a time of its own, up to this.').default(0),
  staggerNs: timeNs('Every flow starts later than the one before it by this.').default(0),
};

const patterns = [
  z
    .strictObject({
      pattern: z.literal('incast'),
      senders: z
        .union([z.int().min(1), hosts('Which.')], 'A number of senders or a list of hosts is expected')
        .meta({ description: 'So many hosts from 0 on without the receiver, or which.' }),
      receiver: host('The host that receives.'),
      bytes: sizes,
      flowsPerSender: count('Flows from every sender.', 1, 1e6).default(1),
      ...traits,
      ...starts,
    })
    .meta({ description: 'Many to one.' }),
  z
    .strictObject({
      pattern: z.literal('pairs'),
      pairs: z
        .array(z.tuple([host('Sender.'), host('Receiver.')]))
        .min(1)
        .meta({ description: '[sender, receiver] of every flow.' }),
      bytes: sizes,
      ...traits,
      ...starts,
    })
    .meta({
      description:
        'From each named sender to its named receiver; with `staggerNs` flows that join one after the other.',
    }),
  z
    .strictObject({
      pattern: z.literal('permutation'),
      hosts: host('Hosts 0 .. hosts - 1.'),
      bytes: sizes,
      ...traits,
      ...starts,
    })
    .meta({ description: 'Every host to one other, chosen at random.' }),
  z
    .strictObject({
      pattern: z.literal('all-to-all'),
      hosts: host('Hosts 0 .. hosts - 1.'),
      bytes: sizes,
      ...traits,
      ...starts,
    })
    .meta({ description: 'Every host to every other.' }),
  z
    .strictObject({
      pattern: z.literal('poisson'),
      hosts: z
        .union(
          [
            z.int().min(2),
            z
              .strictObject({ senders: hosts('Who sends.'), receivers: hosts('Who receives.') })
              .meta({ description: 'Senders and receivers.' }),
          ],
          'A number of hosts or { "senders": [...], "receivers": [...] } is expected',
        )
        .meta({ description: 'Hosts 0 .. hosts - 1, or senders and receivers.' }),
      load: z
        .number()
        .gt(0, 'A load above 0 is expected')
        .max(100)
        .meta({ description: 'Part of `rateBps` that every sender offers in the long run; payload.' }),
      rateBps: rateBps('What a load of 1 is.'),
      bytes: finiteSizes.meta({ description: `Size of every flow: bytes, \`${sizesOf.join('`, `')}\`, or a table.` }),
      durationNs: timeNs('Flows start within this time.', 1),
      ...traits,
    })
    .meta({ description: 'Flows that arrive at random moments.' }),
  z
    .strictObject({
      pattern: z.literal('ring-all-reduce'),
      hosts: z
        .union([z.int().min(2), hosts('Which.')], 'A number of hosts or a list of them is expected')
        .meta({ description: 'Hosts 0 .. hosts - 1, or which, in the order of the ring.' }),
      bytes: count('What each host has: the gradients. A chunk is this over the number of hosts.', 1),
      group: traits.group,
      priority: traits.priority,
      startNs: traits.startNs,
      ...starts,
    })
    .meta({
      description:
        'A training step: all hosts add up what each has by a ring. Each sends a chunk to the next one, 2 (n - 1) times, and the next chunk only when the one before it has come.',
    }),
  z
    .strictObject({
      pattern: z.literal('flows'),
      group: traits.group,
      flows: z
        .array(
          z.strictObject({
            src: host('Who sends.'),
            dst: host('Who receives.'),
            bytes: z
              .union([z.int().min(1), z.literal('endless')], 'A number of bytes from 1, or endless, is expected')
              .meta({ description: 'Size.' }),
            startNs: timeNs('When it starts.').default(0),
            stopNs: timeNs('Nothing is posted from then on.').exactOptional(),
            operation: traits.operation,
            priority: traits.priority,
          }),
        )
        .min(1)
        .meta({ description: 'Flows.' }),
    })
    .meta({ description: 'Flows one by one.' }),
] as const;

export const trafficSchema = z.discriminatedUnion('pattern', patterns);
export type TrafficGroup = z.infer<typeof trafficSchema>;
type Listed = Extract<TrafficGroup, { pattern: 'flows' }>;

/** A flow and the group it is of. */
export interface GroupedFlow {
  readonly group: string;
  readonly flow: Flow;
}

/**
 * All flows of a variant; each group has randomness of its own, so that one does not change another. @throws RoceError
 * as `flowsOf`
 */
export function allFlows({
  traffic,
  seed,
}: {
  readonly traffic: readonly TrafficGroup[];
  readonly seed: number;
}): GroupedFlow[] {
  const random = new Prng(seed);
  return traffic.flatMap((spec, index) =>
    flowsOf(spec, random.fork(`traffic ${index}`)).map((one) => ({ ...one, flow: ofGroup(one.flow, index) })),
  );
}

/** Rings of different groups are different ones. */
function ofGroup(flow: Flow, index: number): Flow {
  return flow.relay === undefined ? flow : { ...flow, relay: `${flow.relay} ${index}` };
}

/** The flows of one group. @throws RoceError ERR_ROCE_ARGUMENT naming what makes no sense */
export function flowsOf(spec: TrafficGroup, random: Prng): GroupedFlow[] {
  const group = spec.group ?? spec.pattern;
  const flows = spec.pattern === 'flows' ? listed(spec) : makeTraffic(asTraffic(spec), random);
  return flows.map((flow) => ({ group, flow }));
}

function listed({ flows }: Listed): Flow[] {
  return flows.map(({ bytes, ...flow }) => ({ ...flow, bytes: bytes === 'endless' ? Infinity : bytes }));
}

/** The generators know no groups. */
function asTraffic({ group: _, ...spec }: Exclude<TrafficGroup, Listed>): TrafficSpec {
  return spec;
}
