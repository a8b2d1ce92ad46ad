/**
 * The parameters of what lies between the queue pairs: the shape of the network, its pauses, and whether connections
 * have to be made. Owns what of a scenario changes with each; whether the scenario is one is checked by whoever begins
 * with it.
 */
import {
  CONNECTING,
  DEFAULT_CM,
  LINK_SHAPES,
  type PlaygroundOperation,
  type PlaygroundScenario,
} from '../../playground/index.ts';
import { Choice, Figure } from './form-parts.tsx';

interface Props {
  readonly scenario: PlaygroundScenario;
  readonly begin: (scenario: PlaygroundScenario) => void;
}

/** Shape, PFC, connection manager. */
export function NetworkFields({ scenario, begin }: Props) {
  const { link, cm } = scenario;
  const { pfc } = link;
  const setLink = (part: Partial<typeof link>): void => begin({ ...scenario, link: { ...link, ...part } });
  const setPfc = (part: Partial<typeof DEFAULT_PFC>): void =>
    setLink({ pfc: withinBounds({ ...DEFAULT_PFC, ...pfc, ...part }) });
  const setCm = (part: Partial<typeof DEFAULT_CM>): void =>
    begin({ ...scenario, cm: { ...DEFAULT_CM, ...cm, ...part } });
  return (
    <>
      <Choice name="Shape" value={link.shape} choices={LINK_SHAPES} onChange={(shape) => setLink({ shape })} />
      <Choice
        name="PFC"
        value={pfc === undefined ? 'none' : 'pauses'}
        choices={['none', 'pauses']}
        onChange={(choice) => begin({ ...scenario, link: withPfc(link, choice === 'pauses') })}
      />
      {pfc === undefined ? null : (
        <>
          <Figure
            name="Pause at (XOFF), bytes"
            value={pfc.xoffBytes}
            max={MAX_BYTES}
            onChange={(xoffBytes) => setPfc({ xoffBytes })}
          />
          <Figure
            name="Go on at (XON), bytes"
            value={pfc.xonBytes}
            max={pfc.xoffBytes}
            onChange={(xonBytes) => setLink({ pfc: { ...pfc, xonBytes } })}
          />
        </>
      )}
      <Choice
        name="Connections"
        value={cm === undefined ? 'stand' : 'are made'}
        choices={['stand', 'are made']}
        onChange={(choice) => begin(choice === 'stand' ? withoutCm(scenario) : withCm(scenario))}
      />
      {cm === undefined ? null : (
        <>
          <Figure
            name="CM timeout (4.096 us * 2^n)"
            value={cm.responseTimeout}
            max={20}
            onChange={(responseTimeout) => setCm({ responseTimeout })}
          />
          <Figure name="CM retries" value={cm.retries} max={15} onChange={(retries) => setCm({ retries })} />
        </>
      )}
    </>
  );
}

type Link = PlaygroundScenario['link'];

function withPfc({ pfc: _, ...link }: Link, pauses: boolean): Link {
  return pauses ? { ...link, pfc: DEFAULT_PFC } : link;
}

/** Nobody goes on above where one pauses: the lower bound follows the upper. */
function withinBounds({ xoffBytes, xonBytes }: typeof DEFAULT_PFC): typeof DEFAULT_PFC {
  return { xoffBytes, xonBytes: Math.min(xonBytes, xoffBytes) };
}

function withCm(scenario: PlaygroundScenario): PlaygroundScenario {
  return { ...scenario, cm: DEFAULT_CM, operations: connectedFirst(scenario.connections, scenario.operations) };
}

/** Every connection is asked for first, and what was to be posted before it stands comes then. */
export function connectedFirst(
  connections: readonly unknown[],
  operations: readonly PlaygroundOperation[],
): PlaygroundOperation[] {
  const connects = connections.map((_, connection): PlaygroundOperation => ({ kind: 'connect', connection }));
  const later = operations.map((operation) =>
    operation.atStep === undefined ? { ...operation, atNs: Math.max(operation.atNs ?? 0, CONNECTED_NS) } : operation,
  );
  return [...connects, ...later];
}

function withoutCm({ cm: _, ...scenario }: PlaygroundScenario): PlaygroundScenario {
  return { ...scenario, operations: scenario.operations.filter(({ kind }) => !CONNECTING.includes(kind)) };
}

const DEFAULT_PFC = { xoffBytes: 20_000, xonBytes: 10_000 };
const MAX_BYTES = 1 << 24;
/** Long enough for REQ, REP and RTU over any delay that one watches. */
const CONNECTED_NS = 100_000;
