/**
 * A server of rping that writes a word of its client's buffer by ATOMIC WRITE, reads it back, and may ask for a FLUSH.
 */
import { FlushLevel, FlushType, WcStatus, WrOpcode } from 'rocev2/transport';
import { type Program, program } from './program.ts';
import { RpingEnd } from './side.ts';

interface Flags {
  readonly flush?: boolean;
}

export const atomicWrite: Program = program({
  name: 'atomic-write',
  summary: 'serves one rping client, but writes a word of its buffer by ATOMIC WRITE and reads it back',
  options: (command) => command.option('--flush', 'then FLUSH the word, which needs rights that rping does not give'),
  run: async (context, flags: Flags) => {
    const { output } = context;
    const side = new RpingEnd(context);
    side.postReceive();
    const connection = await side.accept();
    await side.next();
    const told = side.advertisement;
    side.postReceive();
    const target = { remoteAddr: told.address, rkey: told.rkey };
    side.qp.postSend({ wrId: 0, opcode: WrOpcode.AtomicWrite, inline: WORD, ...target });
    side.read({ ...told, size: WORD.length });
    const [written, read] = [await side.next(), await side.next()];
    if (written.status === WcStatus.Success && read.status === WcStatus.Success)
      output.line(`the word is ${new TextDecoder().decode(side.buffer.bytes.subarray(0, WORD.length))}`);
    if (flags.flush === true) {
      const flush = { type: FlushType.Global, level: FlushLevel.Range };
      side.qp.postSend({ wrId: 0, opcode: WrOpcode.Flush, flush, length: WORD.length, ...target });
      await side.untilFailure();
    }
    await side.end(connection);
    return 0;
  },
});

const WORD = new TextEncoder().encode('one word');
