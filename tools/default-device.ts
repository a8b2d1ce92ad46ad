/**
 * The device of a command that is given no link: its wire leads back to it. It has the addresses that `localhost` means
 * as well, and the link-local one that GID 0 is.
 */
export const DEFAULT_DEVICE = {
  link: 'loopback:10.0.0.1/24+fd00::1/64+127.0.0.1/8+::1/128+fe80::aff:fe00:1/64',
  mac: '02:00:0a:00:00:01',
};
