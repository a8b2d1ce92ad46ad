/** A client of rdma_server that SENDs twice to a peer with one receive. */
import { integer } from '../../options.ts';
import { type Program, program } from './program.ts';
import { RpingEnd, untilAborted } from './side.ts';

interface Flags {
  readonly s: string;
  readonly p: number;
  readonly rnrRetries: number;
}

export const twoSends: Program = program({
  name: 'two-sends',
  summary: 'connects to an rdma_server, which has one receive, and SENDs twice; stays until it is ended',
  options: (command) =>
    command
      .requiredOption('-s <address>', 'the server')
      .option('-p <port>', 'port', integer(1, 65_535), 7471)
      .option('--rnr-retries <count>', 'tries beyond the first while the receiver is not ready', integer(0, 7), 0),
  run: async (context, flags: Flags) => {
    const { device, signal } = context;
    const side = new RpingEnd(context);
    side.postReceive();
    const connection = await device.cm.connect({
      address: flags.s,
      port: flags.p,
      qp: side.qp,
      maxRnrRetry: flags.rnrRetries,
    });
    for (let i = 0; i < 2; i++) side.send(new Uint8Array(16));
    await side.untilFailure();
    await untilAborted(signal);
    await side.end(connection);
    return 0;
  },
});
