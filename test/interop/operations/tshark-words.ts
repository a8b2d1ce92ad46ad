/** The words of `describePacket`, from what tshark prints and nothing else. */
import { spawnSync } from 'node:child_process';
import { tsharkRows } from '../../../tools/tshark.ts';
import { SECOND_PORT } from './stage.ts';

/** What tshark says of one frame. */
export interface TsharkWords {
  /** As `describePacket`; undefined for a frame that looks for a neighbour. */
  readonly line: string | undefined;
  readonly malformed: boolean;
}

/** One for each frame of `file`. `fromA` is how the MAC address of A begins to be told from that of B: its text. */
export async function wordsOfTshark(file: string, macOfA: string): Promise<TsharkWords[]> {
  const infos = await tsharkRows(file, [INFO]);
  // The only output with the names of values beside the values.
  const { status, stdout, stderr } = spawnSync('tshark', ['-r', file, ...OPTIONS, '-T', 'pdml'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`tshark ended with ${status}: ${stderr}`);
  const packets = stdout.split('<packet>').slice(1);
  return packets.map((pdml, i) => {
    const [info = ''] = infos[i]?.get(INFO) ?? [];
    const words = pdml.includes('name="infiniband.bth.opcode"') ? describeRoce(pdml, info) : membership(pdml);
    const way = show(pdml, 'eth.src') === macOfA ? '>' : '<';
    return { line: words === undefined ? undefined : `${way} ${words}`, malformed: pdml.includes('_ws.malformed') };
  });
}

function describeRoce(pdml: string, info: string): string {
  const words = [opcodeName(attribute(pdml, 'infiniband.bth.opcode', 'showname'))];
  if (show(pdml, 'infiniband.bth.m') === '0') words.push('armed');
  if (show(pdml, 'udp.srcport') === `${SECOND_PORT}`) words.push('second path');
  if (show(pdml, 'infiniband.bth.se') === '1') words.push('solicited');
  const pad = show(pdml, 'infiniband.bth.padcnt');
  if (pad !== '0') words.push(`pad ${pad}`);
  const immediate = attribute(pdml, 'infiniband.immdt', 'value');
  if (immediate !== '') words.push(`immediate 0x${immediate}`);
  const syndrome = attribute(pdml, 'infiniband.aeth.syndrome', 'value');
  if (syndrome !== '' && syndrome !== '1f') words.push(`syndrome 0x${syndrome}`);
  if (info.startsWith('CM: ')) words.push(`CM ${CM_KINDS[info.slice(4).trim()] ?? info}`);
  return words.join(', ');
}

/** "Opcode: Reliable Connection (RC) - SEND Only (4)" is "RC SEND Only". */
function opcodeName(text: string): string {
  const [, service, name = text] = /^Opcode: (?:.*\((\w+)\) - )?(.*) \(\d+\)$/.exec(text) ?? [];
  return [...(service === undefined ? [] : [service]), name.replace('SEND only', 'SEND Only')].join(' ');
}

function membership(pdml: string): string | undefined {
  const type = show(pdml, 'igmp.record_type') || show(pdml, 'icmpv6.mldr.mar.record_type');
  return type === '' ? undefined : (CHANGES[type] ?? type);
}

const show = (pdml: string, name: string): string => attribute(pdml, name, 'show');

/** An attribute of the first field of that name; empty where there is none. */
function attribute(pdml: string, name: string, wanted: 'show' | 'showname' | 'value'): string {
  const field = pdml.match(new RegExp(`<field name="${name.replaceAll('.', '\\.')}"[^>]*>`))?.[0] ?? '';
  return new RegExp(` ${wanted}="([^"]*)"`).exec(field)?.[1] ?? '';
}

const INFO = '_ws.col.Info';
const OPTIONS = ['-n', '--disable-protocol', 'rpcordma', '-o', 'infiniband.identify_payload:FALSE'];
/** Group records as RFC 3376 and RFC 3810 number them. */
const CHANGES: Readonly<Record<string, string>> = { 3: 'leaves', 4: 'joins' };
const CM_KINDS: Readonly<Record<string, string>> = {
  ConnectRequest: 'REQ',
  MsgRcptAck: 'MRA',
  ConnectReject: 'REJ',
  ConnectReply: 'REP',
  ReadyToUse: 'RTU',
  DisconnectRequest: 'DREQ',
  DisconnectReply: 'DREP',
  ServiceIDResReq: 'SIDR_REQ',
  ServiceIDResReqResp: 'SIDR_REP',
  LoadAlternatePath: 'LAP',
  AlternatePathResponse: 'APR',
};
