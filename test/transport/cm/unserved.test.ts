import { describe, expect, it } from 'vitest';
import { NO_PATH, RdmaPortSpace, rdmaServiceId } from '../../../packets/cm/index.ts';
import { NONE, OUR_QPN, PEER_ID, Script, STRANGER } from './harness.ts';

const lap = (id: number, changes: object = {}) =>
  ({
    kind: 'LAP',
    body: {
      localCommId: PEER_ID,
      remoteCommId: id,
      remoteQpn: OUR_QPN,
      remoteCmResponseTimeout: 20,
      alternatePath: NO_PATH,
      privateData: NONE,
      ...changes,
    },
  }) as const;

describe('what is not served', () => {
  it('SIDR_REQ draws SIDR_REP with status 1 and its service id (CM-24)', () => {
    const s = new Script();
    const serviceId = rdmaServiceId(RdmaPortSpace.Udp, 7);
    const body = { requestId: 0xcafe, partitionKey: 0xff_ff, serviceId, privateData: NONE };
    expect(s.receive({ kind: 'SIDR_REQ', body }, 0x51n)).toBe('Unsupported');
    const rep = s.sentOne('SIDR_REP');
    expect(rep.transactionId).toBe(0x51n);
    expect(rep.body).toMatchObject({ requestId: 0xcafe, status: 1, serviceId, qpn: 0, qkey: 0 });
    expect(s.cm.size).toBe(0);
  });

  it("LAP of a connection's own peer draws APR with status 2, any other nothing", () => {
    const s = new Script();
    const id = s.established();
    expect(s.receive(lap(id), 0x61n)).toBe('Unsupported');
    const apr = s.sentOne('APR');
    expect(apr.transactionId).toBe(0x61n);
    expect(apr.body).toMatchObject({ localCommId: id, remoteCommId: PEER_ID, status: 2 });
    expect(s.receive(lap(id + 1))).toBe('UnknownId');
    expect(s.receive(lap(id, { localCommId: 5 }))).toBe('UnknownId');
    expect(s.receive(lap(id, { remoteQpn: 5 }))).toBe('WrongQpn');
    expect(s.receive(lap(id), 1n, { source: STRANGER })).toBe('ForeignAddress');
    expect(s.sentKinds()).toEqual([]);
    expect(s.cm.state(id)).toBe('established');
  });

  it('SIDR_REP and APR answer nothing that we asked', () => {
    const s = new Script();
    const id = s.established();
    const apr = { localCommId: PEER_ID, remoteCommId: id, infoLength: 0, status: 0, info: NONE, privateData: NONE };
    expect(s.receive({ kind: 'APR', body: apr })).toBe('UnknownId');
    const rep = { requestId: id, status: 0, infoLength: 0, vendorId: 0, qpn: 2, serviceId: 1n, qkey: 1, info: NONE };
    expect(s.receive({ kind: 'SIDR_REP', body: { ...rep, privateData: NONE } })).toBe('UnknownId');
    expect(s.sentKinds()).toEqual([]);
  });
});
