/**
 * Plays a script against a device: as a case, so that it ends in a verdict like any other. What fails names the line.
 */

import { defined } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import { bindWindow } from '../cases/memory.ts';
import type { HostCompletion } from '../host-control/host-control.ts';
import type { Case, Need } from '../tester/case.ts';
import { ALL_ACCESS, type TesterConnectOptions } from '../tester/connect.ts';
import { demand, Inconclusive, Violation } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { malformation } from './malformed.ts';
import type { ScriptLine, ScriptPacket, ScriptRight, ScriptStep } from './steps.ts';

export interface ScriptOptions {
  /** The device may not survive it (`isHazardous`). */
  readonly hazardous?: boolean;
}

/** A script as a case; a script that does not begin with `connect` gets the usual connection. */
export function scriptCase(name: string, lines: readonly ScriptLine[], options: ScriptOptions = {}): Case {
  const hazard = options.hazardous === true ? ({ hazardous: true } as const) : {};
  return { rules: [name], needs: needsOf(lines), ...hazard, run: (t) => play(t, lines) };
}

/** What its steps take of a device. */
function needsOf(lines: readonly ScriptLine[]): Need[] {
  const steps = lines.map(({ step }) => step);
  const has = (right: ScriptRight): boolean =>
    steps.some((step) => step.kind === 'connect' && step.rights?.includes(right));
  const ipv6 = steps.some((step) => step.kind === 'connect' && step.options.version === 6);
  return [
    ...(ipv6 ? (['ipv6'] as const) : []),
    ...(has('flush') ? (['host-control', 'flush'] as const) : []),
    ...(has('windows') || steps.some(({ kind }) => kind === 'window') ? (['host-control', 'mw2'] as const) : []),
  ];
}

/** What the steps have made so far. */
interface Stage {
  readonly peer: TesterPeer;
  /** Key of the newest window. */
  window?: number;
}

async function play(t: Tester, lines: readonly ScriptLine[]): Promise<void> {
  let stage: Stage | undefined;
  for (const { line, step } of lines) {
    try {
      if (step.kind === 'connect') stage = { peer: await t.connect(optionsOf(step)) };
      else {
        stage ??= { peer: await t.connect() };
        await playStep(t, stage, step);
      }
    } catch (error) {
      if (error instanceof Violation) throw new Violation(`line ${line}: ${error.message}`);
      if (error instanceof Inconclusive) throw new Inconclusive(`line ${line}: ${error.message}`);
      throw error;
    }
  }
}

function optionsOf({ options, rights = [] }: Extract<ScriptStep, { kind: 'connect' }>): TesterConnectOptions {
  if (rights.length === 0) return options;
  const flush = rights.includes('flush') ? (['flush-global'] as const) : [];
  const lending = rights.includes('windows') ? (['mw-bind'] as const) : [];
  return { access: [...ALL_ACCESS, ...flush], regionAccess: [...ALL_ACCESS, ...flush, ...lending], ...options };
}

async function playStep(t: Tester, stage: Stage, step: Exclude<ScriptStep, { kind: 'connect' }>): Promise<void> {
  const { peer } = stage;
  switch (step.kind) {
    case 'tx':
      peer.tx(concrete(step.packet, stage));
      return;
    case 'rx':
      await peer.rx(
        step.wants.map((want) => concrete(want, stage)),
        step.withinNs,
      );
      return;
    case 'acked':
      await peer.expectAck(step.psn, step.msn);
      return;
    case 'silence':
      return peer.expectSilence(step.durationNs);
    case 'sentinel':
      return peer.expectNextPsn(step.psn, step.msn);
    case 'dead':
      return peer.expectDead(step.psn);
    case 'sleep':
      return t.sleep(step.durationNs);
    case 'post':
      return post(peer, step);
    case 'receive':
      return peer.postReceive(step.wrId, 0, step.length);
    case 'completion':
      return ends(await peer.sendCompletions(1), step);
    case 'received':
      return ends(await peer.recvCompletions(1), step);
    case 'buffer': {
      const found = await t.memory(t.need(peer.buffers), 0, step.payload.length);
      const wrong = found.findIndex((byte, i) => byte !== step.payload[i]);
      demand(wrong < 0, `byte ${wrong} of the buffer is ${found[wrong]} and had to be ${step.payload[wrong]}`);
      return;
    }
    case 'window':
      stage.window = await windowOf(t, peer, step);
      return;
    case 'state':
      return peer.expectState(step.state);
  }
}

/** The completion has to be of this work request, with this status. */
function ends([wc]: readonly HostCompletion[], { wrId, status }: { wrId: number; status: number }): void {
  demand(
    wc?.wrId === wrId && wc.status === status,
    `work request ${wc?.wrId} completed with status ${wc?.status}, and ${wrId} was to with ${status}`,
  );
}

/** The key of a new window. */
async function windowOf(
  t: Tester,
  peer: TesterPeer,
  { bound }: Extract<ScriptStep, { kind: 'window' }>,
): Promise<number> {
  if (bound !== undefined) return (await bindWindow(t, peer, bound.offset, bound.length)).rkey;
  return (await t.hostControl.call('mw.alloc', { mw: t.handle(), pd: peer.pd })).rkey;
}

async function post(peer: TesterPeer, step: Extract<ScriptStep, { kind: 'post' }>): Promise<void> {
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

/** Addresses and keys by name become those of region and window, and what is wrong on purpose a change of the frame. */
function concrete<P extends Partial<ScriptPacket>>(packet: P, { peer, window }: Stage): P & Partial<Packet> {
  const { at, ownKey, windowKey, cut, udpLength, ipOptions, badIcrc, rxeIcrc, ...rest } = packet;
  const { reth, atomic, inv } = packet;
  if (windowKey === true && window === undefined) throw new Inconclusive("there is no window: 'window' makes one");
  const { region } = peer;
  const key = ownKey === true ? region.rkey : windowKey === true ? window : undefined;
  const own = {
    ...(at === undefined ? {} : { va: region.va + BigInt(at.offset) }),
    ...defined({ rkey: key }),
  };
  return {
    ...rest,
    ...(reth === undefined ? {} : { reth: { ...reth, ...own } }),
    ...(atomic === undefined ? {} : { atomic: { ...atomic, ...own } }),
    ...(inv === undefined || windowKey !== true ? {} : { inv: window }),
    ...malformation(packet),
  } as unknown as P & Partial<Packet>;
}
