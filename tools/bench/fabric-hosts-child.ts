/**
 * A fat tree whose switches have as many ports as the argument says, simulated in a process of its own until a flow
 * from each host has ended; prints how much memory the process took at most, in kilobytes.
 */
import { fatTree } from 'rocev2/sim';
import { LINK, SWITCHES } from './fabric.ts';
import { FabricRig } from './fabric-rig.ts';
import { mostKilobytes } from './peak-memory.ts';

const MTU = 1024;
const HOST_BYTES = 32 * 1024;

const topology = fatTree({ k: Number(process.argv[2]), link: LINK });
const rig = new FabricRig({ topology, switches: SWITCHES, mtu: MTU, messageBytes: HOST_BYTES });
const { hostCount } = topology;
// To the host half-way round, through all layers.
const flows = Array.from({ length: hostCount }, (_, from) => ({ from, to: (from + hostCount / 2) % hostCount }));
rig.write(flows, HOST_BYTES);
rig.run();
process.stdout.write(`${mostKilobytes()}\n`);
