/**
 * `rocev2/pcap`: reading, writing, filtering and analyzing capture files. Runs in a browser.
 *
 * @module rocev2/pcap
 */

export * from './analysis/index.ts';
export { CaptureCopy } from './capture-copy.ts';
export { PcapWriter } from './pcap-writer.ts';
export {
  type PcapngInterfaceOptions,
  type PcapngPacketOptions,
  type PcapngSectionOptions,
  PcapngWriter,
} from './pcapng-writer.ts';
export * from './read.ts';
