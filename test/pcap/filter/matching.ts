/** The numbers of the packets of a capture that pass a filter. */
import { Dissection, dissect } from '../../../pcap/dissection.ts';
import { compileFilter } from '../../../pcap/filter/index.ts';
import { readCapture } from '../../../pcap/reader.ts';

export function framesThatPass(capture: Uint8Array, text: string): number[] {
  const filter = compileFilter(text);
  const dissection = new Dissection();
  const found: number[] = [];
  for (const packet of readCapture(capture)) {
    dissect(packet, dissection);
    if (filter({ packet, dissection })) found.push(packet.number);
  }
  return found;
}
