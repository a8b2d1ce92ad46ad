/**
 * The connection of a real rping run, from REQ to DREP, and the lookups of a real udaddy run, with our manager in the
 * place of either host.
 * Goal: what we send is what Linux sends, byte for byte, given the same ids and parameters.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { readCmRep, readCmReq, readCmSidrRep, readCmSidrReq, readIpCmHeader } from '../../../packets/cm/index.ts';
import { MAD_BYTES } from '../../../packets/mad.ts';
import { CM_VECTORS } from '../../vectors/cm-mads.ts';
import { Script } from './harness.ts';

const SERVER = IpAddress.parse('10.77.0.1');
const CLIENT = IpAddress.parse('10.77.0.2');

function captured(capture: string, frame: number): Uint8Array {
  const vector = CM_VECTORS.find((one) => one.capture === capture && one.frame === frame);
  if (vector === undefined) throw new Error(`no vector for frame ${frame} of ${capture}`);
  const bytes = new Uint8Array(MAD_BYTES);
  for (let i = 0; i < vector.mad.length / 2; i++) bytes[i] = Number.parseInt(vector.mad.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

/** The transaction id of a host's own messages is its own choice; everything else must be the same. */
function withoutTransaction(bytes: Uint8Array): Uint8Array {
  return bytes.slice().fill(0, 8, 16);
}

describe.each(['rxe-6.1', 'rxe-6.12'])('the first connection of %s', (capture) => {
  const [req, rep, rtu, dreq, drep] = [17, 18, 19, 100, 101].map((frame) => captured(capture, frame));
  if (!req || !rep || !rtu || !dreq || !drep) throw new Error('a connection has five messages');
  const asked = readCmReq(new DataView(req.buffer), 0);
  const answered = readCmRep(new DataView(rep.buffer), 0);

  it('is what we send as server, transaction ids included', () => {
    const s = new Script({ caGuid: answered.localCaGuid, random: { u32: () => answered.localCommId } });
    const fromClient = { source: CLIENT, destination: SERVER };
    s.cm.listen(asked.serviceId, 1);
    s.receiveBytes(req, fromClient);
    const { id } = s.event('connect-request');
    s.cm.accept(s.now, id, {
      qpn: answered.localQpn,
      startingPsn: answered.startingPsn,
      initiatorDepth: 128,
      responderResources: 128,
      rnrRetryCount: answered.rnrRetryCount,
    });
    expect(s.sentOne('REP').bytes).toEqual(rep);
    s.receiveBytes(rtu, fromClient);
    expect(s.eventTypes()).toEqual(['established']);
    s.receiveBytes(dreq, fromClient);
    expect(s.sentOne('DREP').bytes).toEqual(drep);
    expect(s.eventTypes()).toEqual(['disconnected']);
  });

  it('is what we send as client', () => {
    const s = new Script({ caGuid: asked.localCaGuid, random: { u32: () => asked.localCommId } });
    const fromServer = { source: SERVER, destination: CLIENT };
    const ip = readIpCmHeader(new DataView(asked.privateData.buffer), 0);
    const id = s.cm.connect(s.now, {
      serviceId: asked.serviceId,
      local: CLIENT,
      remote: SERVER,
      localPort: ip?.sourcePort ?? 0,
      qpn: asked.localQpn,
      startingPsn: asked.startingPsn,
      mtu: asked.pathMtu,
      initiatorDepth: asked.initiatorDepth,
      responderResources: asked.responderResources,
      retryCount: asked.retryCount,
      rnrRetryCount: asked.rnrRetryCount,
      ackTimeout: asked.primaryPath.localAckTimeout,
      flowLabel: asked.primaryPath.flowLabel,
      privateData: asked.privateData.subarray(36),
    });
    expect(withoutTransaction(s.sentOne('REQ').bytes)).toEqual(withoutTransaction(req));
    s.receiveBytes(rep, fromServer);
    expect(s.eventTypes()).toEqual(['connect-response']);
    s.cm.ready(s.now, id);
    expect(withoutTransaction(s.sentOne('RTU').bytes)).toEqual(withoutTransaction(rtu));
    s.cm.disconnect(s.now, id);
    expect(withoutTransaction(s.sentOne('DREQ').bytes)).toEqual(withoutTransaction(dreq));
    s.receiveBytes(drep, fromServer);
    expect(s.eventTypes()).toEqual(['established', 'disconnected']);
  });
});

const DATAGRAMS = CM_VECTORS.filter(({ tshark }) => /mad\.attributeid=0x001[78]/.test(tshark));

describe('the lookups of a real udaddy run', () => {
  const bytesOf = ({ capture, frame }: (typeof CM_VECTORS)[number]) => captured(capture, frame);
  const questions = DATAGRAMS.filter((_, i) => i % 2 === 0).map(bytesOf);
  const answers = DATAGRAMS.filter((_, i) => i % 2 === 1).map(bytesOf);

  it.each(questions.map((question, i) => ({ question, answer: answers[i] ?? question })))(
    'are what we send, asking and answering',
    ({ question, answer }) => {
      const asked = readCmSidrReq(new DataView(question.buffer), 0);
      const answered = readCmSidrRep(new DataView(answer.buffer), 0);
      const ip = readIpCmHeader(new DataView(asked.privateData.buffer), 0);
      const asking = new Script({ random: { u32: () => asked.requestId } });
      asking.cm.resolve(asking.now, {
        serviceId: asked.serviceId,
        local: CLIENT,
        remote: SERVER,
        localPort: ip?.sourcePort ?? 0,
        privateData: asked.privateData.subarray(36),
      });
      expect(withoutTransaction(asking.sentOne('SIDR_REQ').bytes)).toEqual(withoutTransaction(question));
      asking.receiveBytes(answer, { source: SERVER, destination: CLIENT });
      expect(asking.event('resolved')).toMatchObject({ status: 0, qpn: answered.qpn, qkey: answered.qkey });

      const answering = new Script();
      answering.cm.listenSidr(asked.serviceId, 1);
      answering.receiveBytes(question, { source: CLIENT, destination: SERVER });
      const { id } = answering.event('resolve-request');
      answering.cm.answerSidr(answering.now, id, { qpn: answered.qpn, qkey: answered.qkey });
      expect(answering.sentOne('SIDR_REP').bytes).toEqual(answer);
    },
  );
});
