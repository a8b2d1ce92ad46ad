/** The bump in virtual time, for tests: it lives with the bump, for the conformance tester uses it as well. */
export { BumpWire, type BumpWireOptions } from '../../tools/bump/virtual-wire.ts';
