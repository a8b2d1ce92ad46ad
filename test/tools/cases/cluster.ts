/**
 * A Slurm of one node, for tests: munged, slurmctld and slurmd as children of this process, with keys, sockets, state
 * and logs in a folder of its own, on ports of the loopback interface. Nothing of the machine's own Slurm is used or
 * changed. Owns these processes, and ends them.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface Cluster {
  /** Runs one of Slurm's commands, and returns what it prints. @throws for one that fails */
  run(command: string, args: readonly string[], cwd: string): string;
  /** The processes of a job, parents first; none where it does not run. */
  processesOf(job: string): number[];
  /** Ends everything that was started. */
  end(): Promise<void>;
}

/** @param folder empty @throws where one of the three does not come up */
export async function startCluster(folder: string): Promise<Cluster> {
  const ports = await freePorts();
  for (const name of ['state', 'spool']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'munge.key'), randomBytes(128), { mode: 0o600 });
  writeFileSync(join(folder, 'slurm.conf'), configuration(folder, ports));
  const env = { ...process.env, SLURM_CONF: join(folder, 'slurm.conf') };
  const started: ChildProcess[] = [];
  const start = (name: string, args: readonly string[]): void => {
    const log = openSync(join(folder, `${name}.out`), 'w');
    started.push(spawn(name, args, { env, stdio: ['ignore', log, log] }));
    closeSync(log);
  };
  const end = async (): Promise<void> => {
    for (const child of started.reverse()) await ended(child);
  };
  try {
    start('munged', [
      '--foreground',
      ...['key-file', 'socket', 'pid-file', 'seed-file'].map((what) => mungeFile(folder, what)),
    ]);
    await until('munged answers', () => succeeds('munge', ['-n', '-S', join(folder, 'munge.socket')], env));
    start('slurmctld', ['-D', '-f', env.SLURM_CONF]);
    start('slurmd', ['-D', '-f', env.SLURM_CONF]);
    await until('the node is idle', () => /^idle$/m.test(output('sinfo', ['-h', '-o', '%T'], env)));
  } catch (error) {
    const logs = started.map(({ spawnfile }) => tail(join(folder, `${spawnfile}.out`)));
    await end();
    throw new Error(`no Slurm: ${String(error)}\n${logs.join('\n')}`);
  }
  return {
    run: (command, args, cwd) => execFileSync(command, args, { env, cwd, encoding: 'utf8' }),
    processesOf: (job) => {
      // One line for each process: its id, the job's, and more.
      const lines = output('scontrol', ['listpids'], env).split('\n');
      return lines.flatMap((line) => {
        const [pid = '', of] = line.trim().split(/\s+/);
        return of === job ? [Number(pid)] : [];
      });
    },
    end,
  };
}

/** Asks again and again; a bound in time is the test's own. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let left = 3000; !holds(); left--) {
    if (left === 0) throw new Error(`this never came: ${what}`);
    await pause(200);
  }
}

/** Two ports of loopback that nobody has now. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()] as const;
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const [controller, node] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
  for (const server of servers) server.close();
  return [controller, node];
}

function configuration(folder: string, [controller, node]: readonly [number, number]): string {
  const name = hostname().split('.')[0];
  const user = userInfo().username;
  return `${[
    'ClusterName=test',
    `SlurmctldHost=${name}(127.0.0.1)`,
    `SlurmctldPort=${controller}`,
    `SlurmdPort=${node}`,
    `AuthInfo=socket=${join(folder, 'munge.socket')}`,
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    `StateSaveLocation=${join(folder, 'state')}`,
    `SlurmdSpoolDir=${join(folder, 'spool')}`,
    `SlurmctldPidFile=${join(folder, 'slurmctld.pid')}`,
    `SlurmdPidFile=${join(folder, 'slurmd.pid')}`,
    // No cgroups, and no accounting: neither is there in a container.
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_CPU',
    'MpiDefault=none',
    'ReturnToService=2',
    'KillWait=1',
    // Two tasks side by side, whatever the machine has.
    'SlurmdParameters=config_overrides',
    `NodeName=${name} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN`,
    'PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP',
  ].join('\n')}\n`;
}

function mungeFile(folder: string, what: string): string {
  return `--${what}=${join(folder, `munge.${what.replace('-file', '')}`)}`;
}

function output(command: string, args: readonly string[], env: NodeJS.ProcessEnv): string {
  return spawnSync(command, args, { env, encoding: 'utf8' }).stdout ?? '';
}

function succeeds(command: string, args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return spawnSync(command, args, { env, stdio: 'ignore' }).status === 0;
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').split('\n').slice(-12).join('\n');
}

/** Resolves when the process is gone; one that does not go is killed. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(late);
}
