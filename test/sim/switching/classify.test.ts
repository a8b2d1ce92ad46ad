/** Goal: frames are read within their bounds, whatever they claim. Method: frames by hand, cut off at every length. */
import { describe, expect, it } from 'vitest';
import { classify, LABEL } from '../../../src/sim/switching/classify.ts';
import { packet } from './support.ts';

function classified(bytes: Uint8Array, length = bytes.length, hosts = 2): object | undefined {
  return classify(new DataView(bytes.buffer), 0, length, hosts) ? { ...LABEL } : undefined;
}

describe('classifying a frame', () => {
  it('finds host, priority and header, with a tag and without', () => {
    expect(classified(packet(0, { to: 1 }, 0))).toEqual({ host: 1, priority: 3, ipOffset: 14 });
    expect(classified(packet(0, { to: 0, dscp: 63 }, 0))).toEqual({ host: 0, priority: 7, ipOffset: 14 });
    expect(classified(packet(0, { to: 1, vlan: 0x5fff }, 0))).toEqual({ host: 1, priority: 2, ipOffset: 18 });
    expect(classified(packet(0, { to: 1, vlan: 0x0001 }, 0))).toEqual({ host: 1, priority: 0, ipOffset: 18 });
    expect(classified(packet(0, { to: 1 }, 0), 1000, 1)).toBeUndefined();
  });

  it('needs the ports behind the header, however long that is', () => {
    const shortest = (bytes: Uint8Array): number => {
      let length = 0;
      while (length < bytes.length && classified(bytes, length) === undefined) length++;
      for (let longer = length; longer <= bytes.length; longer++) expect(classified(bytes, longer)).toBeDefined();
      return length;
    };
    expect(shortest(packet(0, { to: 1, bytes: 100 }, 0))).toBe(14 + 20 + 4);
    expect(shortest(packet(0, { to: 1, bytes: 100, vlan: 0 }, 0))).toBe(18 + 20 + 4);
    const options = packet(0, { to: 1, bytes: 100 }, 0);
    options[14] = 0x4f;
    expect(shortest(options)).toBe(14 + 60 + 4);
  });

  it('takes no other protocol for IPv4', () => {
    const six = packet(0, { to: 1 }, 0);
    six[14] = 0x65;
    expect(classified(six)).toBeUndefined();
    const tagged = packet(0, { to: 1, vlan: 0 }, 0);
    tagged[16] = 0x86;
    expect(classified(tagged)).toBeUndefined();
  });
});
