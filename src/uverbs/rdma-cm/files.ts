/** The open files of rdma_cm of one server. */
import type { DeviceFacts } from '../device-facts.ts';
import { Errno } from '../errno.ts';
import type { RdmaCmFile, RdmaCmFileHost } from '../host.ts';

export class CmFiles {
  readonly facts: DeviceFacts;

  constructor(facts: DeviceFacts) {
    this.facts = facts;
  }

  open(_host: RdmaCmFileHost): RdmaCmFile {
    return {
      command: () => ({ errno: Errno.ENOSYS, response: new Uint8Array(0) }),
      close: () => {},
    };
  }
}
