/**
 * Service id resolution (SIDR): parameters and events for looking up, and for offering, a datagram service.
 *
 * Owns: shapes only. A "code" is a 5-bit exponent that means 4.096 us * 2^code.
 */
import type { IpAddress } from '../../packets/address.ts';
import type { CmSidrReq, IpCmHeader } from '../../packets/cm/index.ts';
import type { CmId } from './cm-id.ts';

/** What `resolve` needs. Numbers beyond the width of their field are refused. */
export interface ResolveParameters {
  /** See rdmaServiceId; the remote port is part of it. */
  readonly serviceId: bigint;
  /** Our address. */
  readonly local: IpAddress;
  /** The destination address, of the same version. */
  readonly remote: IpAddress;
  /** Source port in the IP CM header, when the service id is one of RDMA CM. */
  readonly localPort: number;
  /** P_Key, 16 bits [0xffff]. */
  readonly partitionKey?: number;
  /** Up to 180 bytes with an RDMA CM service id, up to 216 with any other. */
  readonly privateData?: Uint8Array;
  /** Code: how long to wait for each answer. Default 20 (4.3 s), as rdma_cm. */
  readonly cmResponseTimeout?: number;
  /** Repetitions of SIDR_REQ, 0 to 15. Default 15, as rdma_cm. */
  readonly maxCmRetries?: number;
}

/** What `answer` needs. */
export type SidrAnswer =
  | {
      /** 0, `CmSidrStatus.Success`. */
      readonly status?: 0;
      /** Queue pair of the service, 24 bits. */
      readonly qpn: number;
      /** Its Q_Key, 32 bits. */
      readonly qkey: number;
      /** Up to 136 bytes. */
      readonly privateData?: Uint8Array;
    }
  | {
      /** A `CmSidrStatus` other than 0. */
      readonly status: number;
      /** What goes with the status (a redirection has its target here), up to 72 bytes. */
      readonly info?: Uint8Array;
      /** Up to 136 bytes. */
      readonly privateData?: Uint8Array;
    };

/**
 * Events of both sides. Their ids are of the same kind as those of connections, and never the same as one of those in
 * use.
 */
export type SidrEvent =
  | {
      readonly type: 'resolve-request';
      readonly id: CmId;
      readonly request: CmSidrReq;
      /**
       * Present when the service id is one of RDMA CM. What it says is the peer's claim; `source` is where the packet
       * came from.
       */
      readonly ipHeader: IpCmHeader | undefined;
      /** Behind the IP CM header, if there is one. */
      readonly privateData: Uint8Array;
      readonly source: IpAddress;
      readonly destination: IpAddress;
    }
  /** The application has not answered in time: the id is gone. */
  | { readonly type: 'resolve-request-expired'; readonly id: CmId }
  | {
      readonly type: 'resolved';
      readonly id: CmId;
      /** A `CmSidrStatus`; the queue pair and its key mean something when it is 0. */
      readonly status: number;
      readonly qpn: number;
      readonly qkey: number;
      readonly info: Uint8Array;
      readonly privateData: Uint8Array;
    }
  /** Retries are used up. The id is gone. */
  | { readonly type: 'unresolved'; readonly id: CmId };
