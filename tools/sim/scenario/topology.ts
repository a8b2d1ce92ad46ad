/**
 * `topology` of a scenario: the shapes of src/sim/topology as files carry them. Owns names and words of the fields;
 * whether a network of this shape is possible, `buildTopology` says.
 */

import type { TopologySpec } from 'rocev2/sim';
import { z } from 'zod';
import { count, rateBps, timeNs, words } from './fields.ts';

const link = (about: string) =>
  z
    .strictObject({
      rateBps: rateBps('Each way.'),
      delayNs: timeNs('How long a bit is under way.'),
    })
    .meta({ description: about });

const port = (about: string) => count(about, 0, 65_535).exactOptional();

const kinds = [
  z
    .strictObject({
      kind: z.literal('star'),
      hosts: count('Hosts; host i is at port i of `switch0`.', 2, 100_000),
      link: link('Host to switch.'),
    })
    .meta({ description: 'One switch. `switch0:<i>` is the queue towards host i.' }),
  z
    .strictObject({
      kind: z.literal('dumbbell'),
      pairs: count('Hosts on each side: 0 .. pairs - 1 at `switch0`, the others at `switch1`.', 1, 50_000),
      edge: link('Host to switch.'),
      bottleneck: link('Switch to switch.'),
    })
    .meta({ description: 'Two switches and one link between them, whose queue is `switch0:<pairs>`.' }),
  z
    .strictObject({
      kind: z.literal('leaf-spine'),
      leaves: count('Switches with hosts: `leaf0` ...', 1, 10_000),
      spines: count('Switches without: `spine0` ...', 0, 10_000),
      hostsPerLeaf: count('Hosts at each leaf; host i is at leaf floor(i / hostsPerLeaf).', 1, 10_000),
      hostLink: link('Host to leaf.'),
      uplink: link('Leaf to spine.'),
    })
    .meta({ description: 'Two layers, every leaf joined with every spine.' }),
  z
    .strictObject({
      kind: z.literal('fat-tree'),
      k: count('Ports of every switch, even: k^3/4 hosts.', 2, 64),
      link: link('Host to switch, and every other link unless `fabricLink` says otherwise.'),
      fabricLink: link('Between switches.').exactOptional(),
    })
    .meta({ description: 'Three layers of switches with k ports each: `edge0` .., `aggregation0` .., `core0` ...' }),
  z
    .strictObject({
      kind: z.literal('parking-lot'),
      hops: count('Links between switches.', 1, 10_000),
      edge: link('Host to switch.'),
      bottleneck: link('Switch to switch.'),
    })
    .meta({
      description:
        'A chain of switches. The flow from host 0 to host 1 passes every bottleneck, that from host 2 + 2h to 3 + 2h bottleneck h alone.',
    }),
  z
    .strictObject({
      kind: z.literal('ring'),
      switches: count('Switches in the circle.', 3, 10_000),
      hostsPerSwitch: count('Hosts at each; host i is at switch floor(i / hostsPerSwitch).', 1, 10_000),
      link: link('Every link.'),
    })
    .meta({ description: 'Switches in a circle: port 0 of each leads to the next, port 1 back, the others to hosts.' }),
  z
    .strictObject({
      kind: z.literal('custom'),
      hosts: z
        .array(words('A name.'))
        .min(2)
        .max(100_000)
        .meta({ description: 'Names of hosts, numbered in this order.' }),
      switches: z.array(words('A name.')).max(100_000).meta({ description: 'Names of switches.' }),
      links: z
        .array(
          z.strictObject({
            a: words('One end, by name.'),
            aPort: port('Its port; default the lowest that is free.'),
            b: words('The other end, by name.'),
            bPort: port('Its port; default the lowest that is free.'),
            rateBps: rateBps('Each way.'),
            delayNs: timeNs('How long a bit is under way.'),
          }),
        )
        .min(1)
        .meta({ description: 'Links. A host has one.' }),
    })
    .meta({ description: 'A network of your own.' }),
] as const;

/** Typed against the builders, so that neither can leave the other. */
export const topologySchema = z.discriminatedUnion('kind', kinds) satisfies z.ZodType<TopologySpec>;
