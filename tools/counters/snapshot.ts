/**
 * What was read at one time: counters of ports, and settings of interfaces.
 *
 * Owns the shape and the builder that every format fills. Knows no format and no meaning.
 */

/** Priority settings of an interface, as `mlnx_qos` prints them. */
export interface Settings {
  /** What chooses the priority of a packet: 'dscp' or 'pcp'. */
  trust?: string;
  /** Priorities with PFC. */
  pfc?: readonly number[];
}

/** A port of a device, an Ethernet interface, or a port of a switch. */
export interface PortCounts {
  /** "mlx5_0/1", "eth0". */
  readonly name: string;
  /** By the name that the source gives. */
  readonly values: Map<string, bigint>;
  readonly settings: Settings;
}

/** The counters of one host at one time. */
export interface Snapshot {
  /** Empty where nothing says it. */
  readonly host: string;
  /** Milliseconds since 1970; undefined where nothing says it. */
  readonly timeMs: number | undefined;
  /** Of what name tells of its place among others: 'before', '0003'. */
  readonly stage: string;
  /** The file or folder it was read from. */
  readonly origin: string;
  readonly ports: ReadonlyMap<string, PortCounts>;
  /** Lines that no format knows, the first few. */
  readonly unread: readonly string[];
  /** How many there are. */
  readonly unreadCount: number;
}

/** Fills a snapshot. */
export class SnapshotBuilder {
  host = '';
  timeMs: number | undefined;
  readonly #ports = new Map<string, PortCounts>();
  readonly #netdevs = new Map<string, string>();
  readonly #others = new Map<string, SnapshotBuilder>();
  readonly #unread: string[] = [];
  #unreadCount = 0;

  /** A value of a port; a later one of the same name replaces it, as two tools print the same counter. */
  set(port: string, counter: string, value: bigint): void {
    this.#port(port).values.set(counter, value);
  }

  settingsOf(port: string): Settings {
    return this.#port(port).settings;
  }

  /** The interface of the kernel that belongs to a port of a device. */
  link(netdev: string, port: string): void {
    this.#netdevs.set(netdev, port);
  }

  /** Where the counters of a host belong, which is here as long as it is the only one. */
  of(host: string): SnapshotBuilder {
    if (this.host === '') this.host = host;
    if (this.host === host) return this;
    const other = this.#others.get(host) ?? new SnapshotBuilder();
    other.host = host;
    this.#others.set(host, other);
    return other;
  }

  unreadable(line: string): void {
    this.#unreadCount += 1;
    if (this.#unread.length < MOST_UNREAD) this.#unread.push(line.slice(0, 80));
  }

  get isEmpty(): boolean {
    return this.#ports.size === 0;
  }

  /** One snapshot of each host that has counters, all of the same time. */
  finish(origin: string, stage: string, host = ''): Snapshot[] {
    return [this, ...this.#others.values()]
      .filter(({ isEmpty }) => !isEmpty)
      .map((each) => ({ ...each.#snapshot(origin, stage, host), timeMs: this.timeMs }));
  }

  #snapshot(origin: string, stage: string, host: string): Snapshot {
    return {
      host: this.host === '' ? host : this.host,
      timeMs: this.timeMs,
      stage,
      origin,
      ports: this.#joined(),
      unread: this.#unread,
      unreadCount: this.#unreadCount,
    };
  }

  /** With interfaces under the port they belong to, where that is known, or where there is one of each. */
  #joined(): ReadonlyMap<string, PortCounts> {
    const names = [...this.#ports.keys()];
    const devices = names.filter((name) => name.includes('/'));
    const interfaces = names.filter((name) => !name.includes('/'));
    const only = devices.length === 1 && interfaces.length === 1 ? devices[0] : undefined;
    const result = new Map<string, PortCounts>();
    for (const counts of this.#ports.values()) {
      const name = counts.name.includes('/') ? counts.name : (this.#netdevs.get(counts.name) ?? only ?? counts.name);
      const into = result.get(name) ?? { name, values: new Map<string, bigint>(), settings: {} };
      for (const [counter, value] of counts.values) into.values.set(counter, value);
      Object.assign(into.settings, counts.settings);
      result.set(name, into);
    }
    return result;
  }

  #port(name: string): PortCounts {
    let port = this.#ports.get(name);
    if (port === undefined) {
      port = { name, values: new Map(), settings: {} };
      this.#ports.set(name, port);
    }
    return port;
  }
}

const MOST_UNREAD = 5;
