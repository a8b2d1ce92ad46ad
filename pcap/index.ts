/**
 * `rocev2/pcap`: reading and writing capture files. Runs in a browser.
 *
 * @module rocev2/pcap
 */

export { PcapWriter } from './pcap-writer.ts';
export {
  type PcapngInterfaceOptions,
  type PcapngPacketOptions,
  type PcapngSectionOptions,
  PcapngWriter,
} from './pcapng-writer.ts';
export { CaptureReader, readCapture } from './reader.ts';
export * from './types.ts';
