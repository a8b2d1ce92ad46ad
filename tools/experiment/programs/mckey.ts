/**
 * The exchange of rdmacm-utils' mckey over our devices, both roles: all members join a multicast group, one sends to
 * it. Source: rdma-core:librdmacm/examples/mckey.c; its lines as the stock one prints them on Linux 6.12.
 */
import { IpAddress } from 'rocev2/packets';
import { RDMA_UDP_QKEY } from 'rocev2/packets/management';
import { integer } from '../../options.ts';
import { gidName } from '../../pingpong/protocol.ts';
import { DatagramNode } from './datagram-node.ts';
import { type Program, program } from './program.ts';

interface MckeyFlags {
  readonly m: string;
  readonly s?: boolean;
  readonly b?: string;
  readonly c: number;
  readonly C: number;
  readonly S: number;
}

export const mckey: Program = program({
  name: 'mckey',
  summary: 'datagrams to a multicast group, as mckey of rdmacm-utils',
  options: (command) =>
    command
      .requiredOption('-m <address>', 'the group')
      .option('-s', 'send to it; without, receive')
      .option('-b <address>', 'our address: we have one')
      .option('-c <count>', 'queue pairs', integer(1, 1000), 1)
      .option('-C <count>', 'messages of each', integer(0, 10_000), 10)
      .option('-S <bytes>', 'bytes of a message', integer(0, 4096), 100),
  run: async ({ device, output, signal }, { m, s: sends = false, c, C, S }: MckeyFlags) => {
    output.line(`mckey: starting ${sends ? 'client' : 'server'}`);
    output.line('mckey: joining');
    const group = IpAddress.parse(m);
    const options = { messages: S === 0 ? 0 : C, messageBytes: S };
    const nodes = Array.from({ length: c }, () => new DatagramNode(device, options));
    const stop = (): void => {
      for (const node of nodes) node.stop();
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    for (const node of nodes) {
      if (!sends) node.postReceives();
      await node.qp.attachMcast(group);
      const ah = await node.pd.createAh({ destination: group });
      node.target = { ah, remoteQpn: MULTICAST_QPN, remoteQkey: RDMA_UDP_QKEY };
      output.line(`mckey: joined dgid: ${gidName(group)} mlid 0x0 sl 0`);
    }
    if (options.messages > 0) {
      output.line(sends ? 'initiating data transfers' : 'receiving data transfers');
      for (const node of nodes) {
        if (sends) node.send(true);
        await node.complete();
      }
      output.line('data transfers complete');
    }
    for (const node of nodes) await node.qp.detachMcast(group);
    output.line('test complete');
    output.line('return status 0');
    return 0;
  },
});

const MULTICAST_QPN = 0xff_ff_ff;
