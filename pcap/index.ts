/**
 * `rocev2/pcap`: reading, writing, filtering and analyzing capture files. Runs in a browser.
 *
 * @module rocev2/pcap
 */

export * from './analysis/index.ts';
export { CaptureCopy } from './capture-copy.ts';
export { Dissection, dissect, IcrcState, icrcState } from './dissection.ts';
export { DISSECTION_ROW, type PackedPlace, packDissection, unpackDissection } from './dissection-row.ts';
export { PcapWriter } from './pcap-writer.ts';
export {
  type PcapngInterfaceOptions,
  type PcapngPacketOptions,
  type PcapngSectionOptions,
  PcapngWriter,
} from './pcapng-writer.ts';
export { CaptureReader, readCapture } from './reader.ts';
export { concealsRoce, isUnreadable, Tunnel, TunnelLayer, tunnelName, tunnelsText } from './tunnels/index.ts';
export * from './types.ts';
