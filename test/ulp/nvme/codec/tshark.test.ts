// Goal: every field of NVMe over RDMA that tshark dissects has the value that our codecs read, in traffic of Linux and
// of our own. Method: the captures of three kernels, and one in which our target is sent every command that it knows;
// each frame's fields as tshark has them beside those of the capsule that the frame is part of.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { tsharkAvailable, tsharkJson, tsharkNumber } from '../../../../tools/tshark.ts';
import { describeWith } from '../../../support/need.ts';
import { PEER_CAPTURES, peerCapturePath, peerPackets } from '../../../vectors/captures.ts';
import { readQueues } from './capsules-of.ts';
import { captureEveryCommand } from './every-command.ts';
import { namesOf, namesOfPrivateData } from './tshark-names.ts';
import { Masked, type Named, type Value } from './tshark-pages.ts';

/** What is not compared, and why. */
const NOT_COMPARED: readonly (readonly [RegExp, string])[] = [
  [/rsvd|rsdv|reserved/, 'reserved: our codecs read no such bits'],
  [/_pkt$|_req$|_prev$|_next$|_latency$|data_tr|data\.tr|data_resp$/, 'frames that belong together, and times'],
  [/^nvme-rdma\.(unknown_data|read_from_host_resp)$|^nvme\.data$/, 'data of the disk, or what tshark gives no fields'],
  [/^nvme\.cmd\.(identify|get_logpage)\..*\.vs$/, 'bytes of the vendor'],
  [/dword14\.uuid/, 'UUID lists: not served, and no field of ours'],
  [/^nvme\.cmd\.(dsm\.|eilbrt$|elbat$|elbatm$|prinfo\.)/, 'hints and protection information: not served'],
  [/^nvme\.cmd\.get_logpage\.cmd_and_eff/, 'tshark has the bits of each effect, we have numbers'],
  [/^nvme\.cmd\.get_logpage\.errinf\.(trype|tsi)$/, 'of other transports'],
  [/^nvme\.cmd\.get_logpage\.smart\.(egcws|tmt)/, 'endurance groups and thermal management: not served'],
  [/^nvme\.cmd\.get_logpage\.(ana\.grp|ana\.grp\.anas|smart\.ts|fw_slot\.afi|fw_slot\.frs)$/, 'compared in parts'],
  [/^nvme\.cmd\.identify\.ctrl\.(oncs|sgls|nvmeof)$/, 'compared in parts'],
  [/^nvme\.cmd\.identify\.ctrl\.sgls\.(bufmptr|tdbd)$/, 'of other transports'],
  [/^nvme\.cmd\.identify\.ctrl\.lpa(\.(tel|ple))?$/, 'tshark takes the number for a flag; its parts are compared'],
  [/^nvme\.cmd\.identify\.ctrl\.(rrls|mi|psds|mtfa|hm|rpmbs|edstt|dsto|fwug|hctma|mntmt|mxtmt|sanicap)/, 'not served'],
  [/^nvme\.cmd\.identify\.ctrl\.(nsetidmax|endgidmax|pels)$/, 'not served'],
];

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-tshark-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Fields that were compared in any capture, and how often. */
const compared = new Map<string, number>();

describeWith('tshark', 'tshark and our codecs', () => {
  it.each(PEER_CAPTURES.filter((name) => name.includes('nvme')))('read the same of %s', async (name) => {
    await expectTheSame(peerCapturePath(name), peerPackets(name));
  });

  it('read the same of every command that our target knows', async () => {
    const path = join(directory, 'every.pcapng');
    const bytes = await captureEveryCommand();
    writeFileSync(path, bytes);
    await expectTheSame(path, [...readCapture(bytes)]);
  });

  it('have compared what matters, many times', () => {
    for (const name of MUST_BE_COMPARED) expect(compared.get(name) ?? 0, name).toBeGreaterThan(0);
    expect(compared.size).toBeGreaterThan(200);
  });
});

async function expectTheSame(path: string, packets: readonly CapturedPacket[]): Promise<void> {
  const { messages, management } = readQueues(packets);
  const ours = new Map<number, Named>();
  for (const message of messages) {
    const names = namesOf(message);
    for (const { number } of message.frames) ours.set(number, names);
  }
  for (const message of management) ours.set(message.number, namesOfPrivateData(message));
  const differences: string[] = [];
  const filter = 'nvme or nvme-rdma';
  let frames = 0;
  for (const packet of await tsharkJson(path, { filter })) {
    const { number, fields } = nvmeFields(packet);
    frames++;
    const names = ours.get(number);
    if (names === undefined) {
      differences.push(`frame ${number}: tshark finds NVMe, we do not`);
      continue;
    }
    for (const [name, values] of fields) {
      const own = names[name];
      if (own === undefined) {
        if (!isAccountedFor(name, names)) differences.push(`frame ${number}: ${name} = ${values} is not compared`);
      } else if (same(own, values)) compared.set(name, (compared.get(name) ?? 0) + 1);
      else differences.push(`frame ${number}: ${name} is ${values} for tshark, ${shown(own)} for us`);
    }
  }
  expect([...new Set(differences)].slice(0, SHOWN)).toEqual([]);
  // All of ours have been looked at: what tshark does not know as NVMe would not be compared.
  expect(frames).toBeGreaterThanOrEqual(messages.reduce((sum, message) => sum + message.frames.length, 0));
}

function isAccountedFor(name: string, names: Named): boolean {
  if (NOT_COMPARED.some(([pattern]) => pattern.test(name))) return true;
  // A part of a number that we read as a whole.
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1))
    if (names[name.slice(0, dot)] !== undefined) return true;
  // A new version of tshark may know more.
  return !tsharkAvailable().version.startsWith('4.0.');
}

function same(own: Value, values: readonly string[]): boolean {
  if (Array.isArray(own)) return own.length === values.length && own.every((one, i) => same(one, [values[i] ?? '']));
  return values.every((value) => sameOne(own as Exclude<Value, readonly Value[]>, value));
}

function sameOne(own: Exclude<Value, readonly Value[]>, value: string): boolean {
  if (own instanceof Uint8Array) return Buffer.from(own).toString('hex') === value.replaceAll(':', '');
  if (own instanceof Masked) return (number(value) & BigInt(own.mask)) === BigInt(own.value);
  if (typeof own === 'string') return own === text(value);
  return BigInt(own) === number(value);
}

/** tshark has some texts as bytes, and some as a number. */
function text(value: string): string {
  if (value.startsWith('0x')) return Buffer.from(value.slice(2), 'hex').reverse().toString('latin1').trimEnd();
  return (bytesOf(value)?.toString('latin1') ?? value).trimEnd();
}

/** And long numbers, in the order of the wire. */
function number(value: string): bigint {
  const bytes = bytesOf(value);
  return bytes === undefined ? tsharkNumber(value) : BigInt(`0x${bytes.reverse().toString('hex')}`);
}

function bytesOf(value: string): Buffer | undefined {
  return /^[0-9a-f]{2}(?::[0-9a-f]{2})+$/.test(value) ? Buffer.from(value.replaceAll(':', ''), 'hex') : undefined;
}

function shown(value: Value): string {
  if (value instanceof Masked) return `${value.value} of ${value.mask}`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return Array.isArray(value) ? value.map(shown).join(',') : String(value);
}

function nvmeFields(packet: unknown): { number: number; fields: Map<string, string[]> } {
  const { layers } = (packet as { _source: { layers: Record<string, unknown> } })._source;
  const frame = layers['frame'] as Record<string, string>;
  const fields = new Map<string, string[]>();
  for (const [name, layer] of Object.entries(layers)) if (name.startsWith('nvme')) collect(layer, fields);
  return { number: Number(frame['frame.number']), fields };
}

function collect(layer: unknown, into: Map<string, string[]>): void {
  if (Array.isArray(layer)) for (const one of layer) collect(one, into);
  if (typeof layer !== 'object' || layer === null || Array.isArray(layer)) return;
  for (const [name, value] of Object.entries(layer)) {
    const leaves = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
    if (leaves.length > 0 && /^nvme(?:-rdma)?\./.test(name)) into.set(name, [...(into.get(name) ?? []), ...leaves]);
    collect(value, into);
  }
}

const SHOWN = 25;
const MUST_BE_COMPARED = [
  'nvme-rdma.cm.rsp.crqsize',
  'nvme-rdma.cmd.qid',
  'nvme.cmd.opc',
  'nvme.cmd.cid',
  'nvme.cmd.nsid',
  'nvme.cmd.slba',
  'nvme.cmd.nlb',
  'nvme.cmd.sgl.type',
  'nvme.cmd.sgl.subtype',
  'nvme.cmd.sgl1.addr',
  'nvme.cmd.sgl1.len',
  'nvme.cmd.sgl1.key',
  'nvme.cqe.dword0',
  'nvme.cqe.sqhd',
  'nvme.cqe.cid',
  'nvme.cqe.status',
  'nvme.cqe.status.sc',
  'nvme.fabrics.cmd.connect.qid',
  'nvme.fabrics.cmd.connect.data.subnqn',
  'nvme.fabrics.prop_get.ccap.mqes',
  'nvme.fabrics.prop_get_set.cc.en',
  'nvme.fabrics.prop_get_set.csts.rdy',
  'nvme.cmd.identify.ctrl.sgls.kdbs',
  'nvme.cmd.identify.ctrl.nvmeof.ioccsz',
  'nvme.cmd.identify.ns.nsze',
  'nvme.cmd.identify.nslist.nsid',
  'nvme.cmd.get_logpage.smart.hrc',
  'nvme.cmd.get_logpage.ana.grp.anas.state',
];
