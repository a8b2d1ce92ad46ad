/** Writes a script as text that `parse.ts` reads again, so that what a property has shrunk can be replayed. */
import { Op } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import type { Region } from '../tester/peer.ts';
import type { ScriptPacket, ScriptStep } from './steps.ts';
import { FLAGS, hex, NUMBERS, nameOf, printDuration, printPayload, syndromeWords } from './words.ts';

/** The whole script; `title` becomes its first lines. */
export function printScript(steps: readonly ScriptStep[], title?: string): string {
  const head = title === undefined ? [] : title.split('\n').map((line) => `# ${line}`);
  return `${[...head, ...steps.map(printStep)].join('\n')}\n`;
}

export function printStep(step: ScriptStep): string {
  switch (step.kind) {
    case 'connect':
      return printConnect(step);
    case 'tx':
      return `tx ${printPacket(step.packet)}`;
    case 'rx': {
      const within = step.withinNs === undefined ? '' : ` within ${printDuration(step.withinNs)}`;
      return `rx ${step.wants.map(printPacket).join(' or ')}${within}`;
    }
    case 'acked':
      return `acked ${step.psn}${step.msn === undefined ? '' : ` msn ${step.msn}`}`;
    case 'silence':
      return step.durationNs === undefined ? 'silence' : `silence ${printDuration(step.durationNs)}`;
    case 'sentinel':
      return `sentinel ${step.psn} msn ${step.msn}`;
    case 'dead':
      return `dead ${step.psn}`;
    case 'sleep':
      return `sleep ${printDuration(step.durationNs)}`;
    case 'post':
      return `post ${step.opcode} id ${step.wrId} length ${step.length} at region+${step.remote.offset}`;
    case 'receive':
      return `receive id ${step.wrId} length ${step.length}`;
    case 'completion':
      return `completion id ${step.wrId} status ${step.status}`;
    case 'window':
      return step.bound === undefined ? 'window' : `window offset ${step.bound.offset} length ${step.bound.length}`;
    case 'received':
      return `received id ${step.wrId} status ${step.status}`;
    case 'buffer':
      return `buffer ${printPayload(step.payload)}`;
    case 'state':
      return `state ${step.state}`;
  }
}

function printConnect({ options, rights = [] }: Extract<ScriptStep, { kind: 'connect' }>): string {
  const words = Object.entries(options).flatMap(([name, value]) =>
    name === 'type' || typeof value !== 'number' ? [] : [`${kebab(name)} ${value}`],
  );
  return ['connect', options.type ?? 'rc', ...rights, ...words].join(' ');
}

/** A packet of a run with the addresses and the key of its region by name. */
export function symbolic(packet: Packet, region: Pick<Region, 'va' | 'rkey' | 'length'>): ScriptPacket {
  const { reth, atomic } = packet;
  const header = reth ?? atomic;
  if (header === undefined) return packet;
  const offset = header.va - region.va;
  const near = offset >= -4096n && offset <= BigInt(region.length) + 4096n;
  return {
    ...packet,
    ...(near ? { at: { offset: Number(offset) } } : {}),
    ...(header.rkey === region.rkey ? { ownKey: true } : {}),
  };
}

export function printPacket(packet: Partial<ScriptPacket>): string {
  const { opcode, syndrome, reth, atomic, feth, at, payload, original, source, destination } = packet;
  const words: string[] = [];
  if (opcode === Op.Acknowledge && syndrome !== undefined) words.push(syndromeWords(syndrome));
  else if (opcode !== undefined) words.push(nameOf(opcode));
  for (const { word, field } of NUMBERS) {
    const value = packet[field];
    if (word === 'inv' && value !== undefined && packet.windowKey === true) words.push('inv window');
    else if (value !== undefined) words.push(`${word} ${value > 0xff_ff ? hex(value) : value}`);
  }
  for (const { word, set } of FLAGS)
    if (Object.entries(set).every(([name, value]) => packet[name as keyof ScriptPacket] === value)) words.push(word);
  const header = reth ?? atomic;
  if (header !== undefined) {
    words.push(`va ${at === undefined ? hex(header.va) : `region${at.offset < 0 ? '' : '+'}${at.offset}`}`);
    words.push(`rkey ${packet.ownKey === true ? 'region' : packet.windowKey === true ? 'window' : hex(header.rkey)}`);
  }
  if (reth !== undefined) words.push(`length ${reth.length}`);
  if (atomic !== undefined) words.push(`swap ${hex(atomic.swapAdd)} compare ${hex(atomic.compare)}`);
  if (feth !== undefined) words.push(`placement ${feth.placement} selectivity ${feth.selectivity}`);
  if (original !== undefined) words.push(`original ${hex(original)}`);
  if (source !== undefined) words.push(`source ${source}`);
  if (destination !== undefined) words.push(`destination ${destination}`);
  if (payload !== undefined && payload.length > 0) words.push(`payload ${printPayload(payload)}`);
  return words.join(' ');
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
