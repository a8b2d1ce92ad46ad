/**
 * `rocev2/packets/kit`: any RoCEv2 packet as a value, right or wrong: build it, read it, describe it. What the
 * conformance tester and the tests of the transport write their packets with; for tests of other devices, too. Not for
 * the data path: it allocates.
 *
 * @module rocev2/packets/kit
 */
export * from './build.ts';
export * from './packet.ts';
export * from './sighting.ts';
