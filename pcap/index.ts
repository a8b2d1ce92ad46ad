/**
 * `rocev2/pcap`: reading and writing capture files. Runs in a browser.
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
