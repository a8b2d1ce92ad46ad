/**
 * The exchange of rdmacm-utils' ucmatose over our devices, both roles: the server sends its messages on every
 * connection, the client receives them all and sends as many back; then both disconnect.
 * The order was read off real captures (ref: shared captures, `ucmatose -c 2 -C 3 -S 2000`).
 */

import type { Connection, Cq, Device, Qp } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { Access, WcStatus, type WorkCompletion, WrOpcode, wcStatusName } from 'rocev2/transport';

export interface UcmatoseOptions {
  /** Default 7471. */
  readonly port?: number;
  readonly connections: number;
  /** Messages per connection and direction. */
  readonly messages: number;
  readonly messageBytes: number;
}

/** What a side has seen: completions by kind. */
export interface UcmatoseResult {
  readonly sent: number;
  readonly received: number;
}

const DEFAULT_PORT = 7471;

/** One connection's queue pair, its buffers posted. */
class Node {
  readonly qp: Qp;
  readonly sendCq: Cq;
  readonly recvCq: Cq;
  readonly #options: UcmatoseOptions;
  readonly #region;

  constructor(device: Device, options: UcmatoseOptions) {
    const { messages, messageBytes } = options;
    const pd = device.allocPd();
    this.#options = options;
    this.sendCq = device.createCq(messages + 1);
    this.recvCq = device.createCq(messages + 1);
    this.#region = pd.regMr(Math.max(1, messageBytes), { access: Access.LocalWrite });
    this.qp = pd.createQp({
      sendCq: this.sendCq,
      recvCq: this.recvCq,
      maxSendWr: messages + 1,
      maxRecvWr: messages + 1,
    });
  }

  /** ucmatose posts its receives before it connects or accepts. */
  postReceives(): void {
    const { messages, messageBytes } = this.#options;
    for (let i = 0; i < messages; i++)
      this.qp.postRecv({ wrId: i, sges: [{ mr: this.#region, length: messageBytes }] });
  }

  async send(): Promise<void> {
    const { messages, messageBytes } = this.#options;
    for (let i = 0; i < messages; i++) {
      this.qp.postSend({ wrId: i, opcode: WrOpcode.Send, sges: [{ mr: this.#region, length: messageBytes }] });
    }
    await drain(this.sendCq, messages);
  }

  receive(): Promise<void> {
    return drain(this.recvCq, this.#options.messages);
  }
}

/** Waits for `count` successful completions. */
export async function drain(cq: Cq, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextCompletion(cq);
}

/** The next completion, which has to be a success. */
export async function nextCompletion(cq: Cq): Promise<WorkCompletion> {
  const { value, done } = await cq.next();
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed while completions were awaited');
  if (value.status !== WcStatus.Success)
    throw new RoceError('ERR_ROCE_STATE', `completion failed: ${wcStatusName(value.status)} (${value.status})`);
  return value;
}

/** Serves one client run: takes `connections` requests, sends, receives, waits for the disconnects. */
export async function runUcmatoseServer(device: Device, options: UcmatoseOptions): Promise<UcmatoseResult> {
  const listener = device.cm.listen(options.port ?? DEFAULT_PORT);
  const nodes: Node[] = [];
  const connections: Connection[] = [];
  try {
    for await (const request of listener) {
      const node = new Node(device, options);
      await node.qp.modify({ state: 1, access: Access.LocalWrite });
      node.postReceives();
      nodes.push(node);
      connections.push(await request.accept({ qp: node.qp }));
      if (nodes.length === options.connections) break;
    }
  } finally {
    listener.close();
  }
  for (const node of nodes) await node.send();
  for (const node of nodes) await node.receive();
  await Promise.all(connections.map((connection) => connection.disconnect()));
  return total(options);
}

/** Connects `connections` times, receives, sends back, disconnects. */
export async function runUcmatoseClient(
  device: Device,
  address: string,
  options: UcmatoseOptions,
): Promise<UcmatoseResult> {
  const nodes = Array.from({ length: options.connections }, () => new Node(device, options));
  const connections = await Promise.all(
    nodes.map(async (node) => {
      await node.qp.modify({ state: 1, access: Access.LocalWrite });
      node.postReceives();
      return device.cm.connect({ address, port: options.port ?? DEFAULT_PORT, qp: node.qp });
    }),
  );
  for (const node of nodes) await node.receive();
  for (const node of nodes) await node.send();
  await Promise.all(connections.map((connection) => connection.disconnect()));
  return total(options);
}

function total({ connections, messages }: UcmatoseOptions): UcmatoseResult {
  return { sent: connections * messages, received: connections * messages };
}
