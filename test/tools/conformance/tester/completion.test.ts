/**
 * Goal: a completion that is wrong in any field is told from a right one. Method: one right completion of each kind,
 * and the same with each of its fields wrong.
 */
import { describe, expect, it } from 'vitest';
import type { HostCompletion } from '../../../../tools/conformance/host-control/host-control.ts';
import { demandReception, demandSent } from '../../../../tools/conformance/tester/completion.ts';
import { WcOpcode, WcStatus } from '../../../../transport/work.ts';

const QPN = 0x11;
const datagram: HostCompletion = {
  ...{ wrId: 3, status: WcStatus.Success, opcode: WcOpcode.Recv, byteLen: 104, qpn: QPN },
  ...{ srcQp: 7, imm: 5, grh: true },
};
const wanted = { wrId: 3, byteLen: 104, imm: 5, srcQp: 7 };

describe('the completion of a receive', () => {
  it('is right when all of its fields are', () => {
    expect(() => demandReception(datagram, wanted, QPN)).not.toThrow();
  });

  it.each<[Partial<HostCompletion>, RegExp]>([
    [{ wrId: 4 }, /work request 4 for 3/],
    [{ status: WcStatus.LocLenErr }, /status 1 for 0/],
    [{ opcode: WcOpcode.RecvRdmaWithImm }, /operation 129 for 128/],
    [{ byteLen: 64 }, /bytes 64 for 104/],
    [{ imm: 6 }, /immediate 6 for 5/],
    [{ invalidatedRkey: 9 }, /invalidated key 9 for undefined/],
    [{ qpn: 0x12 }, /queue pair 18 for 17/],
    [{ srcQp: 8 }, /source 8 for 7/],
    [{ grh: false }, /GRH false for true/],
  ])('is wrong with %o', (fault, says) => {
    expect(() => demandReception({ ...datagram, ...fault }, wanted, QPN)).toThrow(says);
  });

  it('is wrong when the immediate data is lost, or nothing completed', () => {
    const { imm: _, ...without } = datagram;
    expect(() => demandReception(without, wanted, QPN)).toThrow(/immediate undefined for 5/);
    expect(() => demandReception(undefined, wanted, QPN)).toThrow('receive 3 was to complete, and nothing did');
  });

  it('has of a failure the work request, the status and the queue pair', () => {
    const failed = { ...datagram, status: WcStatus.LocLenErr, byteLen: 0, grh: false };
    expect(() => demandReception(failed, { wrId: 3, failed: WcStatus.LocLenErr }, QPN)).not.toThrow();
    expect(() => demandReception(failed, { wrId: 3, failed: 'any' }, QPN)).not.toThrow();
    expect(() => demandReception(failed, { wrId: 3, failed: WcStatus.WrFlushErr }, QPN)).toThrow(/status 1 for 5/);
    expect(() => demandReception(datagram, { wrId: 3, failed: 'any' }, QPN)).toThrow(/status 0 for a failure/);
  });
});

describe('the completion of a send', () => {
  const read: HostCompletion = {
    ...{ wrId: 1, status: WcStatus.Success, opcode: WcOpcode.RdmaRead, byteLen: 300, qpn: QPN },
    ...{ srcQp: 0, grh: false },
  };
  const posted = [{ wrId: 1, opcode: 'read', pieces: [{ mr: 1, offset: 0, length: 300 }] }] as const;

  it('says what was posted', () => {
    expect(() => demandSent(read, posted, QPN)).not.toThrow();
    expect(() => demandSent({ ...read, opcode: WcOpcode.Send }, posted, QPN)).toThrow(/operation 0 for 2/);
    expect(() => demandSent({ ...read, byteLen: 0 }, posted, QPN)).toThrow(/bytes 0 for 300/);
    expect(() => demandSent({ ...read, qpn: 0 }, posted, QPN)).toThrow(/queue pair 0 for 17/);
    expect(() => demandSent(read, undefined, QPN)).toThrow(/never posted/);
  });

  it('has no operation and no bytes when it failed', () => {
    expect(() =>
      demandSent({ ...read, status: WcStatus.WrFlushErr, opcode: 0, byteLen: 0 }, posted, QPN),
    ).not.toThrow();
  });
});
