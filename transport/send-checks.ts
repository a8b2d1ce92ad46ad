/**
 * What a work request must be to be posted to a queue pair of a given type: the operations of the service, as the table
 * of ibv_post_send(3) has them, and for UD an address. What is wrong with a request whatever the service, send-queue.ts
 * says.
 */
import { RoceError } from '../packets/errors.ts';
import type { ProtectionDomain } from './memory.ts';
import type { QpConfig } from './qp-config.ts';
import { QpType } from './qp-type.ts';
import { type SendWr, WrOpcode } from './work.ts';

/** What of a queue pair decides which requests it takes. */
export type SendTerms = Pick<QpConfig, 'type' | 'pd' | 'profile'>;

/**
 * Throws ERR_ROCE_ARGUMENT or ERR_ROCE_ACCESS for a request that a queue pair of this type and domain does not take,
 * and ERR_ROCE_UNSUPPORTED for one that its peer is known not to support.
 */
export function checkService({ type, pd, profile }: SendTerms, wr: SendWr): void {
  if (!profile.flushAndAtomicWrite.value && MEMORY_EXTENSIONS.includes(wr.opcode))
    throw new RoceError('ERR_ROCE_UNSUPPORTED', `a peer of kind ${profile.name} knows neither FLUSH nor ATOMIC WRITE`);
  if (type === QpType.Rc) return;
  if (!profile.xrc.value && type === QpType.XrcSend)
    throw new RoceError('ERR_ROCE_UNSUPPORTED', `a peer of kind ${profile.name} does not know XRC`);
  if (!OPERATIONS[type].includes(wr.opcode))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${NAMES[type]} queue pairs do not have send opcode ${wr.opcode}`);
  if (type === QpType.Ud) checkAddress(pd, wr);
  if (type === QpType.XrcSend && !LOCAL.includes(wr.opcode) && !isInteger(wr.xrcRemoteSrqn, 1, 0xff_ff_ff))
    throw new RoceError('ERR_ROCE_ARGUMENT', 'an XRC request needs an xrcRemoteSrqn from 1 to 0xffffff');
}

function checkAddress(pd: ProtectionDomain, { ah, remoteQpn, remoteQkey = 0 }: SendWr): void {
  if (ah === undefined || ah.destroyed)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a datagram needs an address handle that lives');
  if (ah.domain !== pd)
    throw new RoceError(
      'ERR_ROCE_ACCESS',
      'the address handle belongs to another protection domain than the queue pair',
    );
  if (!isInteger(remoteQpn, 1, 0xff_ff_ff))
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a datagram needs a remoteQpn from 1 to 0xffffff');
  if (!isInteger(remoteQkey, 0, 0xff_ff_ff_ff))
    throw new RoceError('ERR_ROCE_ARGUMENT', 'remoteQkey is an unsigned 32-bit value');
}

function isInteger(value: number | undefined, low: number, high: number): boolean {
  return value !== undefined && Number.isInteger(value) && value >= low && value <= high;
}

const NAMES: Readonly<Record<QpType, string>> = {
  [QpType.Rc]: 'RC',
  [QpType.Uc]: 'UC',
  [QpType.Ud]: 'UD',
  [QpType.XrcSend]: 'XRC send',
  [QpType.XrcRecv]: 'XRC receive',
};

const { Send, SendWithImm, RdmaWrite, RdmaWriteWithImm, LocalInv, BindMw, RegMr } = WrOpcode;

/** No packet of these leaves. */
const LOCAL: readonly WrOpcode[] = [LocalInv, BindMw, RegMr];
/** What came with the memory extensions. */
const MEMORY_EXTENSIONS: readonly WrOpcode[] = [WrOpcode.Flush, WrOpcode.AtomicWrite];

/**
 * RC has all, XRC all that had opcodes when XRC was made (ref:wire#5); a UC SEND with invalidate has no opcode on the
 * wire; an XRC target sends nothing.
 */
const OPERATIONS: Readonly<Record<QpType, readonly WrOpcode[]>> = {
  [QpType.Rc]: Object.values(WrOpcode),
  [QpType.XrcSend]: Object.values(WrOpcode).filter((opcode) => !MEMORY_EXTENSIONS.includes(opcode)),
  [QpType.Uc]: [Send, SendWithImm, RdmaWrite, RdmaWriteWithImm, ...LOCAL],
  [QpType.Ud]: [Send, SendWithImm],
  [QpType.XrcRecv]: [],
};
