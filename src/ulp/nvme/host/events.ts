/**
 * Asynchronous events of a controller: one request is always with it, and each answer is read and told.
 *
 * Owns this loop. What the event's log page says is read here, because the controller sends no further event of that
 * type before.
 */
import { RoceError } from '../../../../packets/errors.ts';
import {
  AdminOpcode,
  ASYNC_EVENT,
  ASYNC_EVENT_CONFIGURATION,
  type AsyncEvent,
  AsyncEventType,
  AsyncNotice,
  Feature,
  GET_LOG_PAGE,
  IDENTIFY_BYTES,
  LogPage,
  readNamespaceList,
} from '../codec/index.ts';
import type { Association } from './association.ts';
import { HostRequest } from './request.ts';

/** Something that a controller has told on its own account. */
export interface NvmeEvent extends AsyncEvent {
  /** Namespaces that were added, removed or changed, where the event is about that; 0xffffffff alone for too many. */
  readonly namespaces: readonly number[];
}

/** Reads `bytes` bytes of a log page from `offset` on; `bytes` is a multiple of 4. */
export async function readLogPage(
  association: Association,
  lid: number,
  bytes: number,
  { offset = 0n, nsid = 0xff_ff_ff_ff, lsp = 0, rae = false } = {},
): Promise<Uint8Array> {
  const request = new HostRequest();
  request.command
    .begin(AdminOpcode.GetLogPage, nsid)
    .setArguments(GET_LOG_PAGE, { lid, lsp, rae, numd: bytes / 4 - 1, lpo: offset });
  request.direction = 'read';
  request.data = new Uint8Array(bytes);
  await association.admin('Get Log Page', request);
  return request.data;
}

/** Takes events until the association is dead; `tell` gets each. A controller that has none is left alone. */
export async function watchEvents(association: Association, tell: (event: NvmeEvent) => void): Promise<void> {
  const offered = ASYNC_EVENT_CONFIGURATION.ofNumber(association.identity.oaes);
  try {
    const { namespaceAttribute, anaChange, discoveryChange } = offered;
    const wanted = { namespaceAttribute, anaChange, discoveryChange };
    if (!namespaceAttribute && !anaChange && !discoveryChange) return;
    await association.setFeature(Feature.AsyncEventConfiguration, ASYNC_EVENT_CONFIGURATION.toNumber(wanted));
    for (;;) {
      const request = new HostRequest();
      request.command.begin(AdminOpcode.AsyncEventRequest);
      request.held = true;
      await association.admin('Asynchronous Event Request', request);
      const event = ASYNC_EVENT.ofNumber(request.completion.dw0);
      tell({ ...event, namespaces: await changedBy(association, event) });
    }
  } catch (error) {
    // The association is dead, or the controller refuses: there are no events then.
    if (!(error instanceof RoceError)) throw error;
  }
}

async function changedBy(association: Association, { type, info }: AsyncEvent): Promise<number[]> {
  if (type !== AsyncEventType.Notice || info !== AsyncNotice.NamespaceAttribute) return [];
  return readNamespaceList(await readLogPage(association, LogPage.ChangedNamespaces, IDENTIFY_BYTES));
}
