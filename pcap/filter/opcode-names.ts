/**
 * Names of opcodes in filters: `write-first`, `read-response-last`, `compare-swap`; and of groups of them: `write`,
 * `atomic`.
 *
 * Owns the names. The opcodes themselves are the table of `packets/opcode.ts`.
 */
import { OPCODES, Op, OpFlag } from '../../packets/opcode.ts';

/** The opcodes, out of 256, that a name stands for. */
export type OpcodeSet = Uint8Array;

/** Groups of opcodes by their word in filters, with the meaning and the `OpFlag` of the group. */
export const OPCODE_GROUPS: readonly (readonly [name: string, meaning: string, flags: number])[] = [
  ['send', 'SEND of any kind', OpFlag.Send],
  ['write', 'RDMA WRITE of any kind', OpFlag.Write],
  ['read', 'READ request or READ response', OpFlag.Read | OpFlag.ReadResponse],
  ['read-request', 'READ request', OpFlag.Read],
  ['read-response', 'READ response', OpFlag.ReadResponse],
  ['atomic', 'COMPARE SWAP, FETCH ADD or the answer to one', OpFlag.Atomic | OpFlag.AtomicAck],
  ['flush', 'FLUSH', OpFlag.Flush],
  ['atomic-write', 'ATOMIC WRITE', OpFlag.AtomicWrite],
  ['cnp', 'congestion notification', OpFlag.Cnp],
  ['request', 'from a requester to a responder', OpFlag.Request],
  ['response', 'from a responder to a requester, ACKs and NAKs included', OpFlag.Response],
  ['first', 'starts a message of several packets', OpFlag.First],
  ['middle', 'neither starts nor ends its message', OpFlag.Middle],
  ['last', 'ends a message of several packets', OpFlag.Last],
  ['only', 'is a message of one packet', OpFlag.Only],
  ['immediate', 'carries immediate data', OpFlag.Imm],
  ['invalidate', "invalidates a key of the receiver's", OpFlag.Invalidate],
];

/** Every single operation by name, whatever the service: "write-first" is 0x06, 0x26, 0x46 and 0xa6. */
export const OPERATION_NAMES: ReadonlyMap<string, OpcodeSet> = operationNames();

/** Groups and operations. */
export const OPCODE_NAMES: ReadonlyMap<string, OpcodeSet> = new Map([
  ...OPERATION_NAMES,
  ...OPCODE_GROUPS.map(([name, , flags]) => [name, opcodesWith(flags)] as const),
]);

/** The opcodes of which a flag is set. */
function opcodesWith(flags: number): OpcodeSet {
  return Uint8Array.from(OPCODES, (info) => ((info.flags & flags) === 0 ? 0 : 1));
}

function operationNames(): Map<string, OpcodeSet> {
  const names = new Map<string, Uint8Array>();
  for (const { code, known, name } of OPCODES) {
    if (!known) continue;
    const typed = typedName(code, name);
    const opcodes = names.get(typed) ?? new Uint8Array(OPCODES.length);
    opcodes[code] = 1;
    names.set(typed, opcodes);
  }
  return names;
}

/** "RC RDMA WRITE Last with Immediate" is typed as "write-last-imm". */
function typedName(code: number, name: string): string {
  if (code === Op.Cnp) return 'cnp';
  const operation = name
    .replace(/^\S+ /, '')
    .replace('RDMA ', '')
    .replace('CmpSwap', 'compare-swap')
    .replace('FetchAdd', 'fetch-add')
    .replace(' with Immediate', ' imm')
    .replace(' with ', ' ');
  return operation.toLowerCase().replaceAll(' ', '-');
}
