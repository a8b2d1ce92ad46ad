/**
 * What a capture is good for, above its findings: where it was taken, and what it cannot know. Runs in a browser too.
 *
 * Owns the sentences about places and the layout. What a limit says is the analyzer's.
 */
import type { Analysis, CaptureLimit, Vantage } from 'rocev2/pcap';
import { wrap } from './words.ts';

/** The sentences above the findings. */
export interface LimitTexts {
  /** Where each interface stands, as far as that is known. */
  readonly places: readonly string[];
  /** What the capture cannot know; without what cannot be read, which the verdict has. */
  readonly limits: readonly string[];
}

/** What is to be said of a capture with interfaces of these names. */
export function limitTexts({ vantages, limits }: Analysis, interfaces: readonly string[]): LimitTexts {
  const name = (index: number): string => interfaces[index] || `interface ${index}`;
  const several = interfaces.length > 1;
  const places = vantages
    .filter(({ place }) => place !== 'unknown')
    .map((vantage) => placeText(vantage, several ? `${name(vantage.interfaceIndex)} ` : ''));
  const texts = limits.filter(({ kind }) => kind !== 'unread').map((limit) => limitText(limit, several, name));
  // Interfaces of several sections may have one name, and stand at one place.
  return { places: [...new Set(places)], limits: [...new Set(texts)] };
}

/** A line for each place that is known, and one for each limit; none for a capture of which nothing is to be said. */
export function limitLines(analysis: Analysis, interfaces: readonly string[]): string[] {
  const { places, limits } = limitTexts(analysis, interfaces);
  const lines = [
    ...places.slice(0, MOST_LINES).flatMap((text) => wrap(text, 'captured   ')),
    ...limits.slice(0, MOST_LINES).flatMap((text) => wrap(text, 'limit      ')),
  ];
  const rest = limits.length - MOST_LINES;
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
