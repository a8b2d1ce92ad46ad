/** Packets within packets. */
export { concealsRoce } from './concealed.ts';
export { findInner } from './find-inner.ts';
export { isUnreadable, Tunnel, TunnelLayer, tunnelName, tunnelsText } from './tunnel.ts';
