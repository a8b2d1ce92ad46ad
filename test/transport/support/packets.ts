/** The words of scripts: those of the conformance tester, which is the same peer on a real wire. */
export * from '../../../packets/kit/packet.ts';
