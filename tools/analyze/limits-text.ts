/**
 * What a capture is good for, above its findings: where it was taken, and what it cannot know.
 *
 * Owns the layout. What the lines say is the analyzer's.
 */
import type { Analysis, CaptureLimit, Vantage } from 'rocev2/pcap';
import { wrap } from './words.ts';

/** A line for each place that is known, and one for each limit; none for a capture of which nothing is to be said. */
export function limitLines({ vantages, limits }: Analysis, interfaces: readonly string[]): string[] {
  const name = (index: number): string => interfaces[index] || `interface ${index}`;
  const several = interfaces.length > 1;
  const placed = vantages.filter(({ place }) => place !== 'unknown');
  const lines = placed
    .slice(0, MOST_LINES)
    .flatMap((vantage) => wrap(placeText(vantage, several ? `${name(vantage.interfaceIndex)} ` : ''), 'captured   '));
  // The verdict has what cannot be read.
  const shown = limits.filter(({ kind }) => kind !== 'unread');
  for (const limit of shown.slice(0, MOST_LINES)) lines.push(...wrap(limitText(limit, several, name), 'limit      '));
  const rest = shown.length - MOST_LINES;
  return rest > 0 ? [...lines, ...wrap(`${rest} more: --json has them all`, 'limit      ')] : lines;
}

/** Whether limits leave room for what was not found. */
export function isLimited({ limits }: Analysis): boolean {
  return limits.some(({ kind }) => kind !== 'unread');
}

function placeText({ place, hosts }: Vantage, at: string): string {
  if (place === 'middle') return `${at}between the hosts, not next to one of them`;
  const does: Record<Exclude<Vantage['place'], 'middle' | 'unknown'>, string> = {
    'near-requester': ', which sends the requests',
    'near-responder': ', which answers the requests',
    'near-host': '',
  };
  return `${at}next to ${hosts.join(', ')}${place === 'unknown' ? '' : does[place]}`;
}

function limitText({ text, interfaces }: CaptureLimit, several: boolean, name: (index: number) => string): string {
  return several && interfaces.length > 0 ? `${interfaces.map(name).join(', ')}: ${text}` : text;
}

const MOST_LINES = 6;
