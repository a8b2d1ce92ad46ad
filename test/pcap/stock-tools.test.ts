// Goal: what stock tools make of a capture is read the same: every format that editcap converts to and this project
// reads, and what mergecap makes of two. Method: frames of rdma_rxe through editcap and mergecap and back.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { LinkType } from '../../pcap/types.ts';
import { rxeFrame } from '../packets/made-frames.ts';
import { describeWith } from '../support/need.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';

describeWith('tshark', 'a capture from editcap and mergecap', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-stock-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const path = (name: string) => join(directory, name);

  function write(name: string, interfaceName: string, firstSecond: number): string {
    const writer = new PcapngWriter();
    const wire = writer.addInterface({ name: interfaceName, linkType: LinkType.Ethernet });
    RXE_FRAMES.forEach(({ opcode }, index) => {
      const frame = rxeFrame(opcode);
      writer.packet(wire, frame, 0, frame.length, firstSecond + 2 * index, 123_456_000, {
        comments: [`opcode ${opcode}`],
      });
    });
    writeFileSync(path(name), writer.take());
    return path(name);
  }

  it.each(['pcap', 'nsecpcap', 'modpcap', 'pcapng'])('is read in the format %s', (format) => {
    const original = write('original.pcapng', 'wire', 1_700_000_000);
    const converted = path(`converted.${format}`);
    execFileSync('editcap', ['-F', format, original, converted]);
    const facts = (file: string) =>
      [...readCapture(readFileSync(file))].map(({ number, seconds, nanoseconds, bytes, originalLength, linkType }) => ({
        ...{ number, seconds, nanoseconds, bytes, originalLength, linkType },
      }));
    expect(facts(converted)).toEqual(facts(original));
  });

  it('is read with its snap length', () => {
    const original = write('original.pcapng', 'wire', 1_700_000_000);
    execFileSync('editcap', ['-s', '64', original, path('cut.pcapng')]);
    const lengths = [...readCapture(readFileSync(path('cut.pcapng')))].map((packet) => [
      packet.bytes.length,
      packet.originalLength,
    ]);
    expect(lengths).toEqual(
      [...readCapture(readFileSync(original))].map(({ bytes }) => [Math.min(64, bytes.length), bytes.length]),
    );
  });

  it('is read with the interfaces and comments of both that were merged', () => {
    const files = [write('left.pcapng', 'left', 1_700_000_000), write('right.pcapng', 'right', 1_700_000_001)];
    execFileSync('mergecap', ['-w', path('merged.pcapng'), ...files]);
    const reader = new CaptureReader();
    reader.push(readFileSync(path('merged.pcapng')));
    const seen: string[] = [];
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
      seen.push(`${reader.interfaces[packet.interfaceIndex]?.name}: ${packet.comments.join()}`);
    }
    reader.end();
    expect(seen).toEqual(RXE_FRAMES.flatMap(({ opcode }) => [`left: opcode ${opcode}`, `right: opcode ${opcode}`]));
  });
});
