/** A host that is a device of this project, in this process; `programs/` are its commands. */
import { type OpenDevice, openDevice } from 'rocev2';
import { QemuLink } from 'rocev2/node';
import { defined, RoceError } from 'rocev2/packets';
import type { ToolOutput } from '../output.ts';
import { EXIT_NOT_FOUND, type ExperimentHost, type QueuePairRate, type RunningCommand } from './host.ts';
import { CablePort } from './port.ts';
import { findProgram } from './programs/index.ts';
import { splitWords } from './programs/words.ts';
import type { StackSpec } from './types.ts';

/** Opens a device at the far end of a Unix socket at `path`, so that its wire is one like a guest's. */
export async function openStack(
  spec: StackSpec & { readonly mac: string; readonly mtu: number },
  path: string,
): Promise<ExperimentHost> {
  const { addresses, mac, mtu, trafficClass, congestion } = spec;
  const traits = {
    ...(trafficClass === undefined ? {} : { path: { trafficClass } }),
    ...defined({ congestion }),
  };
  const port = await CablePort.open(new QemuLink({ path, mtu }));
  try {
    const link = `qemu:${path},connect`;
    return new StackHost(await openDevice({ link, addresses, mac, mtu, ...traits }), port);
  } catch (error) {
    await port.close();
    throw error;
  }
}

class StackHost implements ExperimentHost {
  readonly port: CablePort;
  readonly description = 'rocev2, in the process of the experiment';
  readonly #open: OpenDevice;

  constructor(open: OpenDevice, port: CablePort) {
    this.#open = open;
    this.port = port;
  }

  start(command: string): RunningCommand {
    const interruption = new AbortController();
    const output = new Output();
    const ended = this.#run(command, output, interruption.signal).then((code) => ({ code, ...output.text() }));
    const end = async (): Promise<void> => interruption.abort();
    return { ended, output: async () => output.text(), interrupt: end, kill: end };
  }

  async listening(port: number, timeoutMs: number): Promise<void> {
    const { cm, tcp } = this.#open.device;
    const deadline = performance.now() + timeoutMs;
    const listen: (() => { close(): void })[] = [
      () => cm.listen(port),
      () => cm.listen(port, { portSpace: 'ib' }),
      ...(tcp === undefined ? [] : [() => tcp.listen(port)]),
    ];
    while (!listen.some(isTaken)) {
      if (performance.now() > deadline) throw new RoceError('ERR_ROCE_TIMEOUT', `no listener on port ${port}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  counters(): Readonly<Record<string, number>> {
    const { counters, portCounters } = this.#open.device;
    return { ...counters, ...portCounters };
  }

  rates(): QueuePairRate[] {
    return [...this.#open.device.queuePairs].flatMap(({ qpn, congestion }) =>
      congestion === undefined ? [] : [{ qpn, ...congestion }],
    );
  }

  async stop(): Promise<void> {
    await this.#open.close();
    await this.port.close();
  }

  async #run(command: string, output: Output, signal: AbortSignal): Promise<number> {
    try {
      const [name = '', ...words] = splitWords(command);
      const program = findProgram(name);
      if (program === undefined) {
        output.complaint(`${name}: no such program`);
        return EXIT_NOT_FOUND;
      }
      return await program.run({ device: this.#open.device, words, output, signal });
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      output.complaint(error.message);
      return EXIT_FAILED;
    }
  }
}

/** Whether the port has a listener already. */
function isTaken(listen: () => { close(): void }): boolean {
  try {
    listen().close();
    return false;
  } catch (error) {
    if (error instanceof RoceError && error.code === 'ERR_ROCE_IN_USE') return true;
    throw error;
  }
}

class Output implements ToolOutput {
  #stdout = '';
  #stderr = '';

  line(text: string): void {
    this.#stdout += `${text}\n`;
  }

  complaint(text: string): void {
    this.#stderr += `${text}\n`;
  }

  text(): { stdout: string; stderr: string } {
    return { stdout: this.#stdout, stderr: this.#stderr };
  }
}

const EXIT_FAILED = 1;
