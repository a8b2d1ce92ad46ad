/** Packets within packets. */
export { concealsRoce } from './concealed.ts';
export { findInner } from './find-inner.ts';
export {
  isUnreadable,
  isVirtualNetwork,
  Tunnel,
  TunnelLayer,
  tunnelName,
  tunnelsText,
  virtualNetworkText,
} from './tunnel.ts';
