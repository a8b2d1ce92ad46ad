/** What each packet of a connection is for, in the words of somebody who explains it. Owns the words. */
import type { MappedHeader } from 'rocev2/packets';

/** A heading and a paragraph. */
export interface Telling {
  readonly title: string;
  readonly text: string;
}

/** @param from, to names of the two hosts @param headers the map of the frame */
export function tellingOf(from: string, to: string, headers: readonly MappedHeader[]): Telling {
  const shown = shownIn(headers);
  const kind = headers.find(({ name }) => name.startsWith('CM '))?.name.slice(3);
  if (kind !== undefined) return management(kind, from, to, shown);
  const psn = shown('infiniband.bth.psn');
  const opcode = headers.find(({ name }) => name === 'BTH')?.fields[0]?.meaning ?? '';
  if (shown('infiniband.aeth.syndrome') !== '')
    return {
      title: `${from} acknowledges`,
      text:
        `The message with PSN ${psn} has arrived, its bytes are in the memory of ${from}, and so is everything before it. ` +
        `Now the work request of ${to} completes. The AETH says how it went, and how many messages ${from} has finished.`,
    };
  return {
    title: `${from} sends: ${opcode.replace(/[.;].*$/, '')}`,
    text:
      `A message that fits into one packet. It carries PSN ${psn}, which ${to} expects, and asks for an ACK. There is no ` +
      `address in it: the bytes go into the buffer that the program of ${to} has posted for the next message.`,
  };
}

function management(kind: string, from: string, to: string, shown: (name: string) => string): Telling {
  const [id, remote] = [
    shown(`infiniband.cm.${kind.toLowerCase()}`),
    shown(`infiniband.cm.${kind.toLowerCase()}.remotecommid`),
  ];
  switch (kind) {
    case 'REQ':
      return {
        title: `${from} asks for a connection`,
        text:
          `The request (REQ) travels as a datagram between the two queue pairs 1, which exist on every device. It names the ` +
          `service, much as a TCP port does; the queue pair of ${from}, ${shown('infiniband.cm.req.localqpn')}; the PSN with which ` +
          `${to} is to begin, ${shown('infiniband.cm.req.startpsn')}; how often and how long to retry; and the name that ${from} has ` +
          `for this connection, ${id}.`,
      };
    case 'REP':
      return {
        title: `${from} accepts`,
        text:
          `The reply (REP) has the same of ${from}: its queue pair, ${shown('infiniband.cm.rep.localqpn')}, and the PSN with which ` +
          `${to} is to begin, ${shown('infiniband.cm.rep.startpsn')}. ${to} can now bring its queue pair to RTS: ready to send.`,
      };
    case 'RTU':
      return {
        title: `${from} is ready`,
        text: `Ready to use (RTU): ${from} has the reply. ${to} may send from now on. These three are what SYN, SYN-ACK and ACK are to TCP.`,
      };
    case 'DREQ':
      return {
        title: `${from} wants to end it`,
        text:
          `A disconnect request (DREQ) for the connection that ${to} calls ${remote}. Both sides may send one at about the same ` +
          `time, as here: neither knew of the other's.`,
      };
    case 'DREP':
      return {
        title: `${from} agrees`,
        text: `The disconnect reply (DREP). Both queue pairs leave RTS, and their numbers are not used again for a while: late packets must not find another connection.`,
      };
    default:
      return { title: `${from} sends ${kind}`, text: `A message of the connection manager, from ${from} to ${to}.` };
  }
}

function shownIn(headers: readonly MappedHeader[]): (name: string) => string {
  return (name) => headers.flatMap(({ fields }) => fields).find((field) => field.name === name)?.shown ?? '';
}
