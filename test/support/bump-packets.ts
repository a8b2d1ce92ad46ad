/**
 * What tshark says of the RoCE packets in the capture of a bump, with PSNs counted as the account of the bump counts
 * them.
 */
import { Op, OpFlag, opcodeInfo } from '../../packets/opcode.ts';
import { psnDiff } from '../../packets/psn.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { type TsharkRow, tsharkRows } from '../../tools/tshark.ts';

export interface BumpPacket {
  /** As Wireshark counts: `frame.number`. */
  readonly frame: number;
  /** The interface it was seen on. */
  readonly side: 'a' | 'b';
  /** The end that sent it. */
  readonly from: 'a' | 'b';
  readonly seconds: number;
  readonly opcode: number;
  readonly connection: number;
  /** From the starting PSN of the requester. */
  readonly psn: number;
  readonly syndrome: number | undefined;
  readonly va: bigint | undefined;
  readonly dmaLength: number | undefined;
  readonly ecn: number;
  readonly comment: string;
}

/** Packets between the queue pairs of the connections in the account, management left out. */
export async function bumpPackets(capture: string, account: BumpAccount): Promise<BumpPacket[]> {
  const rows = await tsharkRows(capture, FIELDS, { filter: 'infiniband' });
  return rows.flatMap((row) => packetOf(row, account) ?? []);
}

/** Numbers of the frames that match a display filter: what a reader of the account sees in Wireshark. */
export async function framesMatching(capture: string, filter: string): Promise<number[]> {
  return (await tsharkRows(capture, ['frame.number'], { filter })).map((row) => Number(first(row, 'frame.number')));
}

/**
 * "WRITE Middle 2", "ACK 7", "NAK 0x60 2", "READ 3 +5120": opcode and relative PSN, for comparing whole conversations
 * at a glance.
 */
export function brief({ opcode, psn, syndrome, dmaLength }: BumpPacket): string {
  if (opcode === Op.Acknowledge) {
    const name = syndrome === 0x1f ? 'ACK' : `NAK 0x${(syndrome ?? 0).toString(16)}`;
    return `${name} ${psn}`;
  }
  const name = opcodeInfo(opcode)
    .name.replace(/^RC (RDMA )?/, '')
    .replace('READ Request', 'READ');
  return `${name} ${psn}${opcode === Op.ReadRequest ? ` +${dmaLength}` : ''}`;
}

function packetOf(row: TsharkRow, account: BumpAccount): BumpPacket | undefined {
  const number = (field: string): number | undefined => {
    const text = first(row, field);
    return text === '' ? undefined : Number(text);
  };
  const qpn = number('infiniband.bth.destqp') ?? 0;
  const opcode = number('infiniband.bth.opcode') ?? 0;
  const source = first(row, 'ip.src') || first(row, 'ipv6.src');
  for (const { connection, a, b } of account.connections) {
    const from = source === a.address ? 'a' : 'b';
    const [sender, receiver] = from === 'a' ? [a, b] : [b, a];
    if (source !== sender.address || receiver.qpn !== qpn) continue;
    const requester = (opcodeInfo(opcode).flags & OpFlag.Response) === 0 ? sender : receiver;
    const va = first(row, 'infiniband.reth.va');
    return {
      frame: number('frame.number') ?? 0,
      side: first(row, 'frame.interface_name') === 'a' ? 'a' : 'b',
      from,
      seconds: Number(first(row, 'frame.time_relative')),
      opcode,
      connection,
      psn: psnDiff(number('infiniband.bth.psn') ?? 0, requester.startingPsn ?? 0),
      syndrome: number('infiniband.aeth.syndrome'),
      va: va === '' ? undefined : BigInt(va),
      dmaLength: number('infiniband.reth.dmalen'),
      ecn: number('ip.dsfield.ecn') ?? number('ipv6.tclass.ecn') ?? 0,
      comment: first(row, 'frame.comment'),
    };
  }
  return undefined;
}

function first(row: TsharkRow, field: string): string {
  return row.get(field)?.[0] ?? '';
}

const FIELDS = [
  'frame.number',
  'frame.interface_name',
  'frame.time_relative',
  'frame.comment',
  'ip.src',
  'ipv6.src',
  'ip.dsfield.ecn',
  'ipv6.tclass.ecn',
  'infiniband.bth.opcode',
  'infiniband.bth.destqp',
  'infiniband.bth.psn',
  'infiniband.aeth.syndrome',
  'infiniband.reth.va',
  'infiniband.reth.dmalen',
];
