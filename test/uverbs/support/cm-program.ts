/** A program on the ABI of rdma_cm, as librdmacm is one. */
import { expect } from 'vitest';
import * as C from '../../../src/uverbs/abi/cm.ts';
import { CM_COMMANDS, CmCommand, type CmCommandName } from '../../../src/uverbs/abi/commands.ts';
import { AH_ATTR } from '../../../src/uverbs/abi/queues.ts';
import type { Struct } from '../../../src/uverbs/abi/struct.ts';
import type { CommandResult, RdmaCmFile, UverbsServer } from '../../../src/uverbs/index.ts';
import { TestProcess } from './host.ts';
import { fill, pick, type Values } from './program.ts';

let files = 100;

/** Values of enum rdma_ucm_port_space, written anew. */
export const PortSpace = { IpoIb: 0x2, Tcp: 0x106, Udp: 0x111, Ib: 0x13f };

export interface CmEventSeen {
  readonly uid: number;
  readonly id: number;
  readonly event: number;
  readonly status: number;
  readonly qpn: number;
  readonly data: number[];
}

export interface DatagramEventSeen extends CmEventSeen {
  readonly qkey: number;
  /** A struct ib_uverbs_ah_attr. */
  readonly route: number[];
}

export class CmProgram {
  readonly file: RdmaCmFile;
  readonly number = files++;
  /** Events that the descriptor is readable for. */
  ready = 0;
  readonly memory = new TestProcess();

  constructor(server: UverbsServer) {
    this.file = server.openRdmaCm({
      memory: this.memory,
      number: this.number,
      eventReady: () => {
        this.ready += 1;
      },
    });
  }

  send(name: CmCommandName, layout: Struct, values: Values, room = CM_COMMANDS[name].response): CommandResult {
    const request = fill(layout, values);
    const bytes = new Uint8Array(8 + request.length);
    bytes.set(fill(C.CM_CMD_HDR, { cmd: CmCommand[name], in: request.length, out: room }));
    bytes.set(request, 8);
    const result = this.file.command(bytes);
    if (result instanceof Promise) throw new Error('commands of rdma_cm do not wait');
    return result;
  }

  ok(name: CmCommandName, layout: Struct, values: Values, room?: number): Uint8Array {
    const { errno, response } = this.send(name, layout, values, room);
    expect([name, errno]).toEqual([name, 0]);
    return response;
  }

  errno(name: CmCommandName, layout: Struct, values: Values, room?: number): number {
    return this.send(name, layout, values, room).errno;
  }

  createId(uid: number, ps = PortSpace.Tcp): number {
    return pick(C.CREATE_ID_RESP, this.ok('CREATE_ID', C.CREATE_ID, { uid, ps }), 'id');
  }

  /** The next event, of a connection; undefined when there is none. */
  event(): CmEventSeen | undefined {
    const response = this.#nextEvent();
    if (response === undefined) return undefined;
    return { ...nameOf(response), ...parametersOf(response, C.CONN_PARAM) };
  }

  /** The next event, of a datagram service or a group. */
  datagramEvent(): DatagramEventSeen | undefined {
    const response = this.#nextEvent();
    if (response === undefined) return undefined;
    const { param } = C.EVENT_RESP.at;
    const route = param + C.UD_PARAM.at.ah_attr;
    return {
      ...nameOf(response),
      ...parametersOf(response, C.UD_PARAM),
      qkey: pick(C.UD_PARAM, response, 'qkey', param),
      route: [...response.subarray(route, route + AH_ATTR.size)],
    };
  }

  #nextEvent(): Uint8Array | undefined {
    const { errno, response } = this.send('GET_EVENT', C.GET_EVENT, {}, C.EVENT_RESP.size);
    if (errno !== 0) return undefined;
    this.ready -= 1;
    return response;
  }
}

function nameOf(response: Uint8Array) {
  const of = (name: string): number => pick(C.EVENT_RESP, response, name);
  return { uid: of('uid'), id: of('id'), event: of('event'), status: of('status') | 0 };
}

function parametersOf(response: Uint8Array, { at }: typeof C.CONN_PARAM | typeof C.UD_PARAM) {
  const { param } = C.EVENT_RESP.at;
  const length = response[param + at.private_data_len] ?? 0;
  const from = param + at.private_data;
  const qpn = new DataView(response.buffer, response.byteOffset).getUint32(param + at.qp_num, true);
  return { qpn, data: [...response.subarray(from, from + length)] };
}

/** A sockaddr_in in the room of a sockaddr_in6. */
export function sockaddr(address: string, port: number): Uint8Array {
  const bytes = new Uint8Array(28);
  bytes[0] = 2;
  bytes[2] = port >> 8;
  bytes[3] = port & 0xff;
  bytes.set(address.split('.').map(Number), 4);
  return bytes;
}
