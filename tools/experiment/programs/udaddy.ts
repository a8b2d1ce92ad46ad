/**
 * The exchange of rdmacm-utils' udaddy over our devices, both roles: datagram queue pairs found through the connection
 * manager, messages from the client, then as many answers to where those came from.
 * Source: rdma-core:librdmacm/examples/udaddy.c.
 */
import type { Device } from 'rocev2';
import { IpAddress } from 'rocev2/packets';
import { integer } from '../../options.ts';
import type { ToolOutput } from '../../output.ts';
import { DatagramNode, type DatagramOptions } from './datagram-node.ts';
import { type Program, program } from './program.ts';

interface UdaddyFlags {
  readonly s?: string;
  readonly b?: string;
  readonly c: number;
  readonly C: number;
  readonly S: number;
}

export const udaddy: Program = program({
  name: 'udaddy',
  summary: 'datagrams both ways between queue pairs found by the connection manager, as udaddy of rdmacm-utils',
  options: (command) =>
    command
      .option('-s <address>', 'the server; without it, be one')
      .option('-b <address>', 'our address')
      .option('-c <count>', 'connections', integer(1, 1000), 1)
      .option('-C <count>', 'messages of each connection and direction', integer(0, 10_000), 10)
      .option('-S <bytes>', 'bytes of a message', integer(0, 4096), 100),
  run: async ({ device, output }, flags: UdaddyFlags) => {
    await (flags.s === undefined ? serve(device, flags, output) : call(device, flags.s, flags, output));
    output.line('test complete');
    output.line('return status 0');
    return 0;
  },
});

/** Where udaddy listens; `-p` is its port space. */
const PORT = 7174;

/** No bytes, no messages. */
function optionsOf({ C, S }: UdaddyFlags): DatagramOptions {
  return { messages: S === 0 ? 0 : C, messageBytes: S };
}

async function serve(device: Device, flags: UdaddyFlags, output: ToolOutput): Promise<void> {
  output.line('udaddy: starting server');
  const options = optionsOf(flags);
  const listener = device.cm.listenUd(PORT);
  const nodes: DatagramNode[] = [];
  try {
    for await (const request of listener) {
      const node = new DatagramNode(device, options);
      node.postReceives();
      request.accept({ qp: node.qp });
      nodes.push(node);
      if (nodes.length === flags.c) break;
    }
  } finally {
    listener.close();
  }
  if (options.messages === 0) return;
  output.line('receiving data transfers');
  for (const node of nodes) await node.receiveAndLearn();
  output.line('sending replies');
  for (const node of nodes) node.send(true);
  for (const node of nodes) await node.complete();
  output.line('data transfers complete');
}

async function call(device: Device, address: string, flags: UdaddyFlags, output: ToolOutput): Promise<void> {
  output.line('udaddy: starting client');
  output.line('udaddy: connecting');
  const options = optionsOf(flags);
  const source = flags.b === undefined ? {} : { source: IpAddress.parse(flags.b) };
  const nodes = Array.from({ length: flags.c }, () => new DatagramNode(device, options));
  await Promise.all(
    nodes.map(async (node) => {
      node.postReceives();
      const { ah, remoteQpn, qkey } = await device.cm.resolveUd({ address, port: PORT, pd: node.pd, ...source });
      node.target = { ah, remoteQpn, remoteQkey: qkey };
    }),
  );
  if (options.messages === 0) return;
  output.line('initiating data transfers');
  for (const node of nodes) node.send(false);
  output.line('receiving data transfers');
  for (const node of nodes) await node.complete();
  output.line('data transfers complete');
}
