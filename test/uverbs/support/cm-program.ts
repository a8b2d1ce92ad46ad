/** A program on the ABI of rdma_cm, as librdmacm is one. */
import { expect } from 'vitest';
import * as C from '../../../src/uverbs/abi/cm.ts';
import { CM_COMMANDS, CmCommand, type CmCommandName } from '../../../src/uverbs/abi/commands.ts';
import type { Struct } from '../../../src/uverbs/abi/struct.ts';
import type { CommandResult, RdmaCmFile, UverbsServer } from '../../../src/uverbs/index.ts';
import { fill, pick, type Values } from './program.ts';

let files = 100;

export interface CmEventSeen {
  readonly uid: number;
  readonly id: number;
  readonly event: number;
  readonly status: number;
  readonly qpn: number;
  readonly data: number[];
}

export class CmProgram {
  readonly file: RdmaCmFile;
  readonly number = files++;
  /** Events that the descriptor is readable for. */
  ready = 0;

  constructor(server: UverbsServer) {
    this.file = server.openRdmaCm({
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

  createId(uid: number): number {
    return pick(C.CREATE_ID_RESP, this.ok('CREATE_ID', C.CREATE_ID, { uid, ps: 0x106 }), 'id');
  }

  /** The next event; undefined when there is none. */
  event(): CmEventSeen | undefined {
    const { errno, response } = this.send('GET_EVENT', C.GET_EVENT, {}, C.EVENT_RESP.size);
    if (errno !== 0) return undefined;
    this.ready -= 1;
    const of = (name: string): number => pick(C.EVENT_RESP, response, name);
    const conn = C.EVENT_RESP.at.param;
    const length = response[conn + C.CONN_PARAM.at.private_data_len] ?? 0;
    const from = conn + C.CONN_PARAM.at.private_data;
    return {
      ...{ uid: of('uid'), id: of('id'), event: of('event'), status: of('status') | 0 },
      qpn: pick(C.CONN_PARAM, response, 'qp_num', conn),
      data: [...response.subarray(from, from + length)],
    };
  }
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
