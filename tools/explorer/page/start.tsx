/** The page before there is a file. Owns the invitation. */

/** What is shown without a file. */
export function Start({ opening }: { readonly opening: boolean }) {
  if (opening) return <div class="start quiet">Reading...</div>;
  return (
    <div class="start">
      <div class="drop">
        <h2>Open a capture</h2>
        <p>Drop a pcap or pcapng file here, or choose one with "Open file".</p>
        <p class="quiet">The file stays in this page: nothing is sent anywhere.</p>
      </div>
    </div>
  );
}
