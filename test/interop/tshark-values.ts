// What tshark says of each frame of a file, flattened: the oracle of captures.test.ts.

import { tsharkJson } from '../../tools/tshark.ts';

/** One frame: tshark's field name to its value or values, as it prints them. */
export type TsharkFrame = Readonly<Record<string, string | readonly string[]>>;

/** The layers whose fields are compared; others are TCP payload and guesses. */
const LAYERS = ['eth', 'vlan', 'arp', 'ip', 'ipv6', 'icmpv6', 'udp', 'tcp', 'infiniband', 'data'];

export async function tsharkFrames(file: string): Promise<TsharkFrame[]> {
  const packets = await tsharkJson(file);
  return packets.map((packet) => {
    const fields = new Map<string, string[]>();
    const layers = member(member(packet, '_source'), 'layers');
    for (const layer of LAYERS) flatten(member(layers, layer), fields);
    return Object.fromEntries(
      [...fields].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
    );
  });
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

// Trees ("infiniband.bth_tree") and free-text nodes hold fields; everything else with a text value is a field.
function flatten(node: unknown, into: Map<string, string[]>): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === 'string') into.set(name, [...(into.get(name) ?? []), item]);
      else flatten(item, into);
    }
  }
}
