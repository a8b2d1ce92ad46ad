/**
 * `rocev2/pcap/read`: the packets of a capture, and their dissection: the part of `rocev2/pcap` that needs no analysis.
 * Runs in a browser.
 *
 * @module rocev2/pcap/read
 */
export { Dissection, dissect, dissectPlaced, IcrcState, icrcState } from './dissection.ts';
export { DISSECTION_ROW, type PackedPlace, packDissection, unpackDissection } from './dissection-row.ts';
export type { PlacedPacket } from './placed-packet.ts';
export { CaptureReader, readCapture } from './reader.ts';
export { concealsRoce, isUnreadable, Tunnel, TunnelLayer, tunnelName, tunnelsText } from './tunnels/index.ts';
export * from './types.ts';
