/** A server for rdma_client that posts its receive only after it has sent an RNR NAK. */
import { setTimeout as delay } from 'node:timers/promises';
import { integer } from '../../options.ts';
import { type Program, program } from './program.ts';
import { RpingEnd } from './side.ts';

interface Flags {
  readonly p: number;
  readonly after: number;
  readonly rnrTimer: number;
}

export const lateReceiver: Program = program({
  name: 'late-receiver',
  summary: 'serves one rdma_client, but posts a receive only after some RNR NAKs',
  options: (command) =>
    command
      .option('-p <port>', 'port', integer(1, 65_535), 7471)
      .option('--after <count>', 'RNR NAKs before the receive is posted', integer(1, 1000), 2)
      .option('--rnr-timer <code>', 'the wait to ask for, as the AETH has it: 24 is 40.96 ms', integer(0, 31), 24),
  run: async (context, { p: port, after, rnrTimer: minRnrTimer }: Flags) => {
    const { device, output, signal } = context;
    const side = new RpingEnd(context);
    const before = device.portCounters.sendRnrErr;
    const connection = await side.accept({ port, minRnrTimer });
    while (device.portCounters.sendRnrErr - before < after && !signal.aborted) await delay(1);
    output.line(`posts a receive after ${device.portCounters.sendRnrErr - before} RNR NAKs`);
    side.postReceive();
    await side.next();
    side.send(new Uint8Array(16));
    await side.next();
    await side.end(connection);
    return 0;
  },
});
