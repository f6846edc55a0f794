// First file of the dashboard in the browser.
import { render } from 'preact';
import { watchNetwork } from './api/reachable.ts';
import { App } from './app.tsx';
import { openSession } from './session.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element #app');
// The fleet restores its own position, because its rows do not exist yet when the browser would.
history.scrollRestoration = 'manual';
watchNetwork();
openSession();
render(<App />, root);
