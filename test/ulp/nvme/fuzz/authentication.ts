/**
 * Authentication of a hostile host: the messages of an honest one, out of order, changed, and cut. Owns what is done to
 * them.
 */
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { HostSide } from '../../../../src/ulp/nvme/auth/host-side.ts';
import { DhchapSecret } from '../../../../src/ulp/nvme/auth/secret.ts';
import {
  AUTHENTICATION,
  COMMAND_BYTES,
  FABRICS_OPCODE,
  FabricsType,
  NvmeCommand,
  SECP_NVME,
  writeCommand,
} from '../../../../src/ulp/nvme/index.ts';
import { type CapsuleTerms, HOSTILE_NQN, mutated, pick } from './capsules.ts';
import type { RawAnswer } from './hostile-host.ts';

const MESSAGE_AT = 2048;
const ROOM_AT = 8192;
const ROOM_BYTES = 4096;

type Send = (capsule: Uint8Array) => Promise<RawAnswer | undefined>;

/** An exchange, in which things may go wrong at every step. */
export async function authenticate(
  terms: CapsuleTerms,
  send: Send,
  { subNqn, secret }: { readonly subNqn: string; readonly secret: string },
): Promise<void> {
  const { random, host } = terms;
  const suite = { ...nvmeCrypto, random: (length: number) => Uint8Array.from({ length }, () => random.below(256)) };
  const side = new HostSide(
    { suite, hostNqn: HOSTILE_NQN, subNqn, secret: DhchapSecret.parse(secret), controllerSecret: undefined },
    random.below(0x1_00_00),
  );
  const honest = random.chance(0.4);
  const give = async (message: Uint8Array): Promise<boolean> => {
    const changed = honest ? message : changedMessage(terms, message);
    const times = honest || random.chance(0.8) ? 1 : 2;
    for (let i = 0; i < times; i++) {
      host.bytes.set(changed, MESSAGE_AT);
      if (
        (await send(messageCapsule(terms, FabricsType.AuthenticationSend, MESSAGE_AT, changed.length, honest))) ===
        undefined
      )
        return false;
    }
    return true;
  };
  const take = async (): Promise<Uint8Array | undefined> => {
    if (!honest && random.chance(0.1)) return host.bytes.slice(ROOM_AT, ROOM_AT + ROOM_BYTES);
    const room = honest ? ROOM_BYTES : pick(random, [ROOM_BYTES, ROOM_BYTES, 1, 16, 64]);
    const answer = await send(messageCapsule(terms, FabricsType.AuthenticationReceive, ROOM_AT, room, honest));
    return answer === undefined ? undefined : host.bytes.slice(ROOM_AT, ROOM_AT + ROOM_BYTES);
  };
  if (!honest && random.chance(0.1)) await take();
  if (!(await give(side.negotiate()))) return;
  const challenge = await take();
  if (challenge === undefined) return;
  const reply = await side.challenged(challenge);
  if (reply.send !== undefined && !(await give(reply.send))) return;
  const success = await take();
  if (success === undefined) return;
  const end = await side.succeeded(success);
  if (end.send !== undefined) await give(end.send);
}

function messageCapsule(terms: CapsuleTerms, type: number, at: number, length: number, honest: boolean): Uint8Array {
  const { memory } = terms.host;
  const command = new NvmeCommand().begin(FABRICS_OPCODE, type);
  command.setArguments(AUTHENTICATION, { secp: SECP_NVME, spsp0: 1, spsp1: 1, length });
  command.sgl.setKeyed(memory.iova + BigInt(at), length, memory.rkey, false);
  command.cid = terms.random.below(0x1_00_00);
  const bytes = new Uint8Array(COMMAND_BYTES);
  writeCommand(new DataView(bytes.buffer), 0, command);
  return honest || terms.random.chance(0.7) ? bytes : mutated(terms, bytes, 1);
}

function changedMessage({ random }: CapsuleTerms, message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(Math.max(1, message.length + (random.chance(0.2) ? random.below(40) - 20 : 0)));
  bytes.set(message.subarray(0, bytes.length));
  for (let i = random.below(4); i > 0; i--)
    bytes[random.below(Math.min(bytes.length, random.chance(0.6) ? 16 : 4096))] = pick(random, [
      0,
      1,
      2,
      0xf0,
      0xf1,
      255,
      random.below(256),
    ]);
  return bytes;
}
