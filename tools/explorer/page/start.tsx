/** The page before there is a file. Owns the invitation. */

import { sitePage } from './site.ts';

/** What is shown without a file. */
export function Start({ opening }: { readonly opening: boolean }) {
  const samples = sitePage('samples.html');
  if (opening) return <div class="start quiet">Reading...</div>;
  return (
    <div class="start">
      <div class="drop">
        <h2>Open a capture</h2>
        <p>Drop a pcap or pcapng file here, or choose one with "Open file".</p>
        <p class="quiet">The file stays in this page: nothing is sent anywhere.</p>
        {samples === undefined ? null : (
          <p>
            Without one: <a href={samples}>sample captures</a>.
          </p>
        )}
      </div>
    </div>
  );
}
