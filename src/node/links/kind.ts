/**
 * The description of a kind of link: its syntax, its requirements on the machine, and its constructor.
 * Owns the reading of a specification, `kind:target[,flag][,name=value]`, the same for every kind.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { Medium } from '../../../packets/frame.ts';
import type { Link, LinkEcn } from '../../ground/link.ts';

/** Something a link cannot do without, and whether this machine and this process have it. */
export interface Requirement {
  /** 'the package koffi', 'the privilege CAP_NET_RAW'. */
  readonly what: string;
  /** Whether it is there. */
  readonly met: boolean;
  /** What to do about it when it is not met, in words that follow a semicolon; may be empty when met. */
  readonly remedy: string;
}

/** A kind of link: what it needs, and how one is made from a specification. */
export interface LinkKind {
  /** What stands before the colon: 'udp6'. */
  readonly name: string;
  /** How it is typed, after the colon: `INTERFACE[,mtu=N]`. */
  readonly usage: string;
  /** What it is and what it needs, in one line. */
  readonly summary: string;
  /** What its frames begin with: an Ethernet header or an IP header. */
  readonly medium: Medium;
  /** Which parts of the traffic class its links carry on this machine. */
  readonly ecn: LinkEcn;
  /** Looks, and changes nothing; never throws. */
  requirements(): Promise<readonly Requirement[]>;
  /** Makes a link, not started yet. @throws RoceError ERR_ROCE_ARGUMENT by way of `spec` */
  open(spec: LinkText): Link;
}

/** A link specification as typed. A kind takes its options out of it; what is left is an error. */
export class LinkText {
  /** All of it, as typed. */
  readonly text: string;
  /** What stands between the colon and the first comma; never empty. */
  readonly target: string;
  readonly #words: string[];
  readonly #mtu: number | undefined;
  readonly #hint: string;

  /**
   * @param hint the correct syntax, for error messages
   * @param mtu the value when the text has no `mtu=`
   */
  constructor(text: string, hint: string, mtu: number | undefined) {
    this.text = text;
    this.#hint = hint;
    this.#mtu = mtu;
    const colon = text.indexOf(':');
    const [target = '', ...words] = colon < 0 ? [] : text.slice(colon + 1).split(',');
    this.target = target;
    this.#words = words;
  }

  /** Whether the flag `word` is given. */
  takeFlag(word: string): boolean {
    const at = this.#words.indexOf(word);
    if (at >= 0) this.#words.splice(at, 1);
    return at >= 0;
  }

  /** The value of `name=value`, or undefined. */
  takeText(name: string): string | undefined {
    const at = this.#words.findIndex((word) => word.startsWith(`${name}=`));
    return at < 0 ? undefined : this.#words.splice(at, 1)[0]?.slice(name.length + 1);
  }

  /** The value of `name=N`, a whole number within bounds, or undefined. */
  takeNumber(name: string, min: number, max: number): number | undefined {
    const text = this.takeText(name);
    if (text === undefined) return undefined;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw this.error(`${name} must be ${min} .. ${max}, not ${text}`);
    return value;
  }

  /** Largest IP packet in bytes, `mtu=N`, as every kind of link has it. */
  takeMtu(): number | undefined {
    const mtu = this.takeNumber('mtu', MIN_MTU, MAX_MTU) ?? this.#mtu;
    if (mtu !== undefined && !(mtu >= MIN_MTU && mtu <= MAX_MTU))
      throw this.error(`mtu must be ${MIN_MTU} .. ${MAX_MTU}, not ${mtu}`);
    return mtu;
  }

  /** Ends the reading: everything must have been taken. */
  done(): void {
    const [word] = this.#words;
    if (word !== undefined) throw this.error(`unknown option ${JSON.stringify(word)}`);
  }

  /** An ERR_ROCE_ARGUMENT about this specification, which also says how it is typed. */
  error(what: string): RoceError {
    return new RoceError('ERR_ROCE_ARGUMENT', `link ${JSON.stringify(this.text)}: ${what}; it is ${this.#hint}`);
  }
}

const MIN_MTU = 68;
const MAX_MTU = 65_535;
