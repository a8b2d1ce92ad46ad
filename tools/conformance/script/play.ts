/** Plays a script against a device: as a case, so that it ends in a verdict like any other. What fails names the line. */
import type { Packet } from '../packet/packet.ts';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, Violation } from '../tester/outcome.ts';
import type { Peer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import type { Line, ScriptPacket, Step } from './steps.ts';

/** A script as a case; a script that does not begin with `connect` gets the usual connection. */
export function scriptCase(name: string, lines: readonly Line[]): Case {
  return { rules: [name], run: (t) => play(t, lines) };
}

async function play(t: Tester, lines: readonly Line[]): Promise<void> {
  let peer: Peer | undefined;
  for (const { line, step } of lines) {
    try {
      if (step.kind === 'connect') peer = await t.connect(step.options);
      else {
        peer ??= await t.connect();
        await playStep(t, peer, step);
      }
    } catch (error) {
      if (error instanceof Violation) throw new Violation(`line ${line}: ${error.message}`);
      if (error instanceof Inconclusive) throw new Inconclusive(`line ${line}: ${error.message}`);
      throw error;
    }
  }
}

async function playStep(t: Tester, peer: Peer, step: Exclude<Step, { kind: 'connect' }>): Promise<void> {
  switch (step.kind) {
    case 'tx':
      peer.tx(concrete(step.packet, peer));
      return;
    case 'rx':
      await peer.rx(
        step.wants.map((want) => concrete(want, peer)),
        step.withinNs,
      );
      return;
    case 'acked':
      await peer.acked(step.psn, step.msn);
      return;
    case 'silence':
      return peer.silence(step.durationNs);
    case 'sentinel':
      return peer.stillExpects(step.psn, step.msn);
    case 'dead':
      return peer.isDead(step.psn);
    case 'sleep':
      return t.sleep(step.durationNs);
    case 'post':
      return post(peer, step);
    case 'receive':
      return peer.postReceive(step.wrId, 0, step.length);
    case 'completion': {
      const [completion] = await peer.sendCompletions(1);
      const is = completion?.wrId === step.wrId && completion.status === step.status;
      demand(is, `work request ${completion?.wrId} completed with status ${completion?.status}`);
      return;
    }
    case 'state':
      return peer.reaches(step.state);
  }
}

async function post(peer: Peer, step: Extract<Step, { kind: 'post' }>): Promise<void> {
  const { region, buffers } = peer;
  const { opcode, wrId, length, remote } = step;
  const mr = buffers?.mr;
  if (mr === undefined) throw new Inconclusive('posting takes an agent');
  const oneSided = { remoteAddr: peer.region.va + BigInt(remote.offset), rkey: region.rkey };
  await peer.post({
    wrId,
    opcode,
    pieces: [{ mr, offset: 0, length }],
    ...(opcode.startsWith('send') ? {} : oneSided),
  });
}

/** Addresses and keys by name become those of the region. */
function concrete<P extends Partial<ScriptPacket>>(packet: P, { region }: Peer): P & Partial<Packet> {
  const { at, ownKey, ...rest } = packet;
  const { reth, atomic } = packet;
  const own = {
    ...(at === undefined ? {} : { va: region.va + BigInt(at.offset) }),
    ...(ownKey === true ? { rkey: region.rkey } : {}),
  };
  return {
    ...rest,
    ...(reth === undefined ? {} : { reth: { ...reth, ...own } }),
    ...(atomic === undefined ? {} : { atomic: { ...atomic, ...own } }),
  } as unknown as P & Partial<Packet>;
}
