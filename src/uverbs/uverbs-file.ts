/** One open file of uverbs: takes commands and doorbells, and answers each. What they do is in commands/. */
import type { CommandName, ExtendedName } from './abi/commands.ts';
import { type ParsedCommand, parseCommand, type Reply, replyBytes } from './command.ts';
import { createAh, destroyAh } from './commands/address-handle.ts';
import { createCq, createCqExtended, destroyCq, reqNotifyCq, resizeCq } from './commands/completion.ts';
import { createCompChannel, getContext, queryDevice, queryDeviceExtended, queryPort } from './commands/device.ts';
import { allocMw, allocPd, deallocMw, deallocPd, deregMr, regMr, reregMr } from './commands/memory.ts';
import { modifyQp, modifyQpExtended } from './commands/modify.ts';
import {
  attachMcast,
  createQp,
  createQpExtended,
  destroyQp,
  detachMcast,
  postSend,
  queryQp,
  ring,
} from './commands/queue-pair.ts';
import { createSrq, destroySrq, modifySrq, querySrq } from './commands/srq.ts';
import type { Context } from './context.ts';
import { Errno, errnoOf, Refusal } from './errno.ts';
import type { CommandResult, UverbsFile } from './host.ts';

type Handler = (context: Context, command: ParsedCommand) => Reply | Promise<Reply>;

const HANDLERS: Readonly<Record<CommandName, Handler>> = {
  GET_CONTEXT: getContext,
  QUERY_DEVICE: queryDevice,
  QUERY_PORT: queryPort,
  ALLOC_PD: allocPd,
  DEALLOC_PD: deallocPd,
  CREATE_AH: createAh,
  DESTROY_AH: destroyAh,
  REG_MR: regMr,
  REREG_MR: reregMr,
  DEREG_MR: deregMr,
  ALLOC_MW: allocMw,
  DEALLOC_MW: deallocMw,
  CREATE_COMP_CHANNEL: createCompChannel,
  CREATE_CQ: createCq,
  RESIZE_CQ: resizeCq,
  DESTROY_CQ: destroyCq,
  REQ_NOTIFY_CQ: reqNotifyCq,
  CREATE_QP: createQp,
  QUERY_QP: queryQp,
  MODIFY_QP: modifyQp,
  DESTROY_QP: destroyQp,
  POST_SEND: postSend,
  ATTACH_MCAST: attachMcast,
  DETACH_MCAST: detachMcast,
  CREATE_SRQ: createSrq,
  MODIFY_SRQ: modifySrq,
  QUERY_SRQ: querySrq,
  DESTROY_SRQ: destroySrq,
};

const EXTENDED_HANDLERS: Readonly<Record<ExtendedName, Handler>> = {
  QUERY_DEVICE: queryDeviceExtended,
  CREATE_CQ: createCqExtended,
  CREATE_QP: createQpExtended,
  MODIFY_QP: modifyQpExtended,
};

/** What makes an object that stays. */
const MAKING: ReadonlySet<CommandName> = new Set([
  ...(['ALLOC_PD', 'CREATE_AH', 'REG_MR', 'ALLOC_MW', 'CREATE_COMP_CHANNEL', 'CREATE_CQ'] as const),
  ...(['CREATE_QP', 'CREATE_SRQ'] as const),
]);

export class ServedFile implements UverbsFile {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    const context = this.#context;
    try {
      if (context.closed) throw new Refusal(Errno.EIO);
      const command = parseCommand(bytes);
      // linux:core/rdma_core.c: no object without a context.
      if (context.asyncChannel < 0 && command.name !== 'GET_CONTEXT') throw new Refusal(Errno.EINVAL);
      context.demandRoom(MAKING.has(command.name));
      const handler = command.extended ? EXTENDED_HANDLERS[command.name as ExtendedName] : HANDLERS[command.name];
      const reply = handler(context, command);
      if (!(reply instanceof Promise)) return { errno: 0, response: replyBytes(command, reply) };
      return this.#later(command, reply);
    } catch (error) {
      return refused(error);
    }
  }

  async #later(command: ParsedCommand, reply: Promise<Reply>): Promise<CommandResult> {
    this.#context.waiting += 1;
    try {
      return { errno: 0, response: replyBytes(command, await reply) };
    } catch (error) {
      return refused(error);
    } finally {
      this.#context.waiting -= 1;
    }
  }

  /** As `UverbsFile.doorbell`; the errno that a command would have been answered with. */
  doorbell(qpHandle: number): number {
    try {
      if (!this.#context.closed) ring(this.#context, this.#context.handles.get('qp', qpHandle));
    } catch (error) {
      // Nobody waits for an answer; an error of ours is thrown on.
      return errnoOf(error);
    }
    return 0;
  }

  channelClosed(channel: number): void {
    this.#context.closeChannel(channel);
  }

  close(): void {
    this.#context.close();
  }
}

function refused(error: unknown): CommandResult {
  return { errno: errnoOf(error), response: NOTHING };
}

const NOTHING = new Uint8Array(0);
