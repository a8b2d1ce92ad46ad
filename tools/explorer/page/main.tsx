/** The page of the explorer: what the browser loads first. */
import { render } from 'preact';
import { App } from './app.tsx';
import './style.css';
import './packets.css';
import './overview.css';
import './graphs.css';
import './narrow.css';

const root = document.getElementById('root');
if (root !== null) render(<App />, root);
