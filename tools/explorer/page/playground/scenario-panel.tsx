/**
 * What happens, and under which conditions: operations to post now or to begin with, and all parameters. Changing a
 * parameter begins anew.
 */
import { useState } from 'preact/hooks';
import { MLX_DEFAULTS, PAPER_DEFAULTS } from 'rocev2/transport';
import {
  ANSWERS,
  type Answer,
  CONNECTING,
  DEFAULT_CONGESTION,
  DEFAULT_SCENARIO,
  hostName,
  OPERATION_KINDS,
  type OperationKind,
  type PlaygroundOperation,
  type PlaygroundScenario,
  parseScenario,
} from '../../playground/index.ts';
import { Interventions } from './controls.tsx';
import { Choice, Figure } from './form-parts.tsx';
import { connectedFirst, NetworkFields } from './network-form.tsx';
import type { Play } from './use-session.ts';

/** Operation, parameters, and what is done by hand. */
export function ScenarioPanel({ play }: { readonly play: Play }) {
  const { scenario } = play.session;
  return (
    <div class="card scenario-card" data-testid="scenario">
      <OperationForm play={play} scenario={scenario} />
      <details open={play.course === undefined}>
        <summary>Parameters</summary>
        <Parameters play={play} scenario={scenario} />
      </details>
      <h3>By hand</h3>
      <Interventions play={play} />
    </div>
  );
}

interface FormProps {
  readonly play: Play;
  readonly scenario: PlaygroundScenario;
}

function OperationForm({ play, scenario }: FormProps) {
  const [kind, setKind] = useState<OperationKind>('write');
  const [bytes, setBytes] = useState(4096);
  const [count, setCount] = useState(1);
  const [offset, setOffset] = useState(0);
  const [window, setWindow] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [receive, setReceive] = useState(true);
  const [group, setGroup] = useState(false);
  const [answer, setAnswer] = useState<Answer>('accept');
  const [mistake, setMistake] = useState<'' | 'rkey' | 'range' | 'right'>('');
  const ways = waysOf(scenario);
  const way = ways[chosen] ?? ways[0] ?? { name: '', connection: 0, side: 0 };
  const { connection, side } = way;
  const operation: PlaygroundOperation = {
    kind,
    bytes,
    count,
    ...(offset === 0 ? {} : { offset }),
    connection,
    side,
    receive,
    ...(mistake === '' ? {} : { mistake }),
    ...(window && mayUseWindow(kind, scenario) ? { window } : {}),
    ...(group && scenario.qp.service === 'ud' ? { group } : {}),
    ...(kind === 'connect' ? { answer } : {}),
  };
  return (
    <fieldset class="grid-form">
      <legend>Operation</legend>
      <Choice name="Operation" value={kind} choices={OPERATION_KINDS} onChange={setKind} />
      <Figure name="Bytes" value={bytes} onChange={setBytes} />
      <Figure name="How many" value={count} onChange={setCount} />
      <Figure name="Offset" value={offset} onChange={setOffset} />
      <Choice
        name="From, to"
        value={way.name}
        choices={ways.map(({ name }) => name)}
        onChange={(name) => setChosen(ways.findIndex((one) => one.name === name))}
      />
      <Choice name="Mistake" value={mistake} choices={['', 'rkey', 'range', 'right']} onChange={setMistake} />
      <label>
        <input type="checkbox" checked={receive} onChange={(event) => setReceive(event.currentTarget.checked)} /> peer
        posts receives
      </label>
      {!mayUseWindow(kind, scenario) ? null : (
        <label>
          <input type="checkbox" checked={window} onChange={(event) => setWindow(event.currentTarget.checked)} /> with
          the key of the peer's memory window
        </label>
      )}
      {scenario.qp.service !== 'ud' ? null : (
        <label>
          <input type="checkbox" checked={group} onChange={(event) => setGroup(event.currentTarget.checked)} /> to the
          multicast group
        </label>
      )}
      {kind !== 'connect' ? null : (
        <Choice name="Peer's answer" value={answer} choices={ANSWERS} onChange={setAnswer} />
      )}
      <span class="buttons">
        <button type="button" data-testid="post" onClick={() => play.act((session) => session.post(operation))}>
          Post now
        </button>
        <button
          type="button"
          data-testid="begin"
          onClick={() => beginWith(play, { ...scenario, operations: [operation], interventions: [] })}
        >
          Begin with this
        </button>
      </span>
    </fieldset>
  );
}

/** A window opens memory to WRITEs and READs, of the service that can bind one. */
function mayUseWindow(kind: OperationKind, { qp }: PlaygroundScenario): boolean {
  return qp.service === 'rc' && (kind === 'write' || kind === 'write-imm' || kind === 'read');
}

interface Way {
  readonly name: string;
  readonly connection: number;
  readonly side: 0 | 1;
}

/** Both ways of every connection. */
function waysOf({ connections }: PlaygroundScenario): Way[] {
  return connections.flatMap(({ from, to }, connection): Way[] => [
    { name: `${hostName(from)} to ${hostName(to)}`, connection, side: 0 },
    { name: `${hostName(to)} to ${hostName(from)}`, connection, side: 1 },
  ]);
}

function Parameters({ play, scenario }: FormProps) {
  const { qp, link, congestion } = scenario;
  const change = (part: Partial<PlaygroundScenario>): void =>
    beginWith(play, { ...scenario, interventions: [], ...part });
  const setQp = (part: Partial<PlaygroundScenario['qp']>): void => change({ qp: { ...qp, ...part } });
  const setLink = (part: Partial<PlaygroundScenario['link']>): void => change({ link: { ...link, ...part } });
  return (
    <fieldset class="grid-form">
      <legend class="spoken">Parameters</legend>
      <Figure name="Hosts" value={scenario.hosts} onChange={(hosts) => change(withHosts(scenario, hosts))} />
      <Choice
        name="Service"
        value={qp.service}
        choices={['rc', 'uc', 'ud']}
        onChange={(service) => setQp({ service })}
      />
      <Choice name="Path MTU" value={`${qp.mtu}`} choices={MTUS} onChange={(mtu) => setQp({ mtu: Number(mtu) })} />
      <Figure name="retry_cnt" value={qp.retryCnt} onChange={(retryCnt) => setQp({ retryCnt })} />
      <Figure name="rnr_retry" value={qp.rnrRetry} onChange={(rnrRetry) => setQp({ rnrRetry })} />
      <Figure name="timeout (4.096 us * 2^n)" value={qp.timeout} onChange={(timeout) => setQp({ timeout })} />
      <Figure name="min_rnr_timer code" value={qp.minRnrTimer} onChange={(minRnrTimer) => setQp({ minRnrTimer })} />
      <Figure
        name="READs, atomics at a time"
        value={qp.maxRdAtomic}
        onChange={(maxRdAtomic) => setQp({ maxRdAtomic })}
      />
      <Figure name="First PSN" value={qp.firstPsn} onChange={(firstPsn) => setQp({ firstPsn })} />
      <Figure name="Delay, ns" value={link.delayNs} onChange={(delayNs) => setLink({ delayNs })} />
      <Figure
        name="Rate, Gb/s"
        value={link.rateBps / 1e9}
        onChange={(rate) => setLink({ rateBps: Math.round(rate * 1e9) })}
      />
      <Figure name="Loss, %" value={link.loss * 100} onChange={(loss) => setLink({ loss: loss / 100 })} />
      <Figure name="Seed" value={scenario.seed} onChange={(seed) => change({ seed })} />
      <NetworkFields scenario={scenario} begin={(next) => beginWith(play, { ...next, interventions: [] })} />
      <Choice
        name="Congestion control"
        value={congestion?.profile ?? 'none'}
        choices={['none', 'paper', 'mlx']}
        onChange={(profile) => beginWith(play, withCongestion(scenario, profile))}
      />
      {congestion === undefined ? null : <CongestionFigures scenario={scenario} change={change} />}
    </fieldset>
  );
}

interface CongestionProps {
  readonly scenario: PlaygroundScenario;
  readonly change: (part: Partial<PlaygroundScenario>) => void;
}

function CongestionFigures({ scenario: { link, congestion = DEFAULT_CONGESTION }, change }: CongestionProps) {
  const { ecn = DEFAULT_ECN } = link;
  const setEcn = (part: Partial<typeof ecn>): void => change({ link: { ...link, ecn: { ...ecn, ...part } } });
  return (
    <>
      <Figure
        name="CNP interval, us"
        value={congestion.cnpIntervalNs / 1e3}
        onChange={(us) => change({ congestion: { ...congestion, cnpIntervalNs: Math.round(us * 1e3) } })}
      />
      <Figure name="kmin, bytes" value={ecn.kminBytes} onChange={(kminBytes) => setEcn({ kminBytes })} />
      <Figure name="kmax, bytes" value={ecn.kmaxBytes} onChange={(kmaxBytes) => setEcn({ kmaxBytes })} />
      <Figure name="pmax" value={ecn.pmax} onChange={(pmax) => setEcn({ pmax })} />
      {Object.entries(DCQCN_DEFAULTS[congestion.profile])
        .filter(([, usual]) => typeof usual === 'number')
        .map(([name, usual]) => (
          <Figure
            key={name}
            name={name}
            value={Number(congestion.parameters[name] ?? usual)}
            onChange={(figure) =>
              change({ congestion: { ...congestion, parameters: { ...congestion.parameters, [name]: figure } } })
            }
          />
        ))}
    </>
  );
}

/** All of them speak to the last one. */
function withHosts({ operations, cm }: PlaygroundScenario, hosts: number): Partial<PlaygroundScenario> {
  const connections = Array.from({ length: Math.max(1, Math.min(8, hosts) - 1) }, (_, from) => ({
    from,
    to: hosts - 1,
  }));
  const [first = { kind: 'write', bytes: 4096 }] = operations.filter(({ kind }) => !CONNECTING.includes(kind));
  const posted = connections.map((_, connection): PlaygroundOperation => ({ ...first, connection }));
  return { hosts, connections, operations: cm === undefined ? posted : connectedFirst(connections, posted) };
}

function withCongestion(scenario: PlaygroundScenario, profile: 'none' | 'paper' | 'mlx'): PlaygroundScenario {
  const { congestion: _, ...rest } = { ...scenario, interventions: [] };
  if (profile === 'none') return rest;
  const { ecn = DEFAULT_ECN } = scenario.link;
  return { ...rest, congestion: { ...DEFAULT_CONGESTION, profile }, link: { ...scenario.link, ecn } };
}

/** Checked like a link, so that a form cannot make what a link could not carry. */
function beginWith(play: Play, scenario: PlaygroundScenario): void {
  play.act(() => {
    const needed = Math.max(
      ...scenario.operations.map(({ bytes = 64, count = 1, offset = 0 }) => offset + count * (bytes + 40)),
    );
    const memoryBytes = Math.max(DEFAULT_SCENARIO.memoryBytes, scenario.memoryBytes, Math.ceil(needed / 4096) * 4096);
    const checked = parseScenario({ ...scenario, memoryBytes });
    play.begin(checked);
  });
}

const MTUS = ['256', '512', '1024', '2048', '4096'] as const;
const DEFAULT_ECN = { kminBytes: 5_000, kmaxBytes: 40_000, pmax: 0.2 };
const DCQCN_DEFAULTS = { paper: PAPER_DEFAULTS, mlx: MLX_DEFAULTS } as const;
