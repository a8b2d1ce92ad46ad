/**
 * Goal: each packet's row says what its headers say, for every kind of packet in corpus/: all link types, tunnels, cut
 * and malformed packets. Method: the captures are exported, and the columns compared with the bytes and with the parser.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import {
  FrameStatus,
  formatMac,
  frameDestination,
  frameSource,
  frameStatusName,
  Medium,
  opcodeInfo,
} from '../../../packets/index.ts';
import { Dissection, dissect, readCapture } from '../../../pcap/index.ts';
import { exportCapture } from '../../../tools/export/export.ts';
import { chunksOf, Sink } from '../../support/sink.ts';
import { rowsOf } from './fleet.ts';

const CORPUS = fileURLToPath(new URL('../../../corpus', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'roce-export-'));
afterAll(() => rmSync(out, { recursive: true }));
const files = readdirSync(CORPUS, { recursive: true, encoding: 'utf8' }).filter((name) => /\.pcap(ng)?$/.test(name));
const ECN = ['not-ect', 'ect1', 'ect0', 'ce'];

/** The columns, from the parser alone. */
function expected(bytes: Uint8Array): unknown[] {
  const dissection = new Dissection();
  const rows: unknown[] = [];
  try {
    for (const packet of readCapture(bytes)) {
      const status = dissect(packet, dissection);
      const { frame, cut } = dissection;
      const ethernet = frame.medium === Medium.Ethernet && frame.end - frame.start >= 14;
      const ip = frame.ipVersion !== 0;
      const bth = frame.bthOffset >= 0;
      rows.push({
        frame: BigInt(packet.number),
        status: frameStatusName(status),
        src_mac: ethernet ? formatMac(frame.bytes, frame.start + 6) : null,
        dst_mac: ethernet ? formatMac(frame.bytes, frame.start) : null,
        src_ip: ip ? frameSource(frame).toString() : null,
        dst_ip: ip ? frameDestination(frame).toString() : null,
        ecn: ip ? ECN[frame.trafficClass & 3] : null,
        dscp: ip ? frame.trafficClass >>> 2 : null,
        opcode: bth ? opcodeInfo(frame.opcode).name : null,
        dest_qpn: bth ? frame.destQpn : null,
        psn: bth ? frame.psn : null,
        payload_bytes: status === FrameStatus.Ok ? frame.payloadLength : null,
        icrc: status === FrameStatus.Ok && !cut ? BigInt(frame.view.getUint32(frame.icrcOffset)) : null,
        tunnelled: dissection.depth > 0,
      });
    }
  } catch {
    // A defect of the file: what came before it is expected.
  }
  return rows;
}

it('are all of corpus/', () => {
  expect(files.length).toBeGreaterThan(40);
});

it.each(files)('%s', async (name) => {
  const file = join(CORPUS, name);
  const capture = name.replace(/\W/g, '_');
  const options = { out, tables: ['captures', 'packets'] as const, icrc: true, createdBy: 'test' };
  await exportCapture({ file, capture, host: undefined }, options, { stdin: chunksOf(), stderr: new Sink() });
  const wanted = expected(readFileSync(file));
  if (wanted.length === 0) return;
  const rows = await rowsOf(out, 'packets', capture);
  const names = Object.keys(wanted[0] as object).filter((column) => column !== 'tunnelled');
  expect(
    rows.map((row) => ({
      ...Object.fromEntries(names.map((column) => [column, row[column]])),
      tunnelled: row['tunnel'] !== null,
    })),
  ).toEqual(wanted);
});
