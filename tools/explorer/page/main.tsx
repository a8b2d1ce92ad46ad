/** The page of the explorer: what the browser loads first. */
import { render } from 'preact';

const root = document.getElementById('root');
if (root !== null) render(<main>rocev2</main>, root);
