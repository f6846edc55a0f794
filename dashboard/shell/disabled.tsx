import { Button } from '../parts/button.tsx';
import { retrySignIn } from '../session.ts';

/** The server has neither an admin key nor an identity provider, so that no sign-in is possible. */
export function Disabled() {
  return (
    <div class="sign-in">
      <h1>The control plane has no admin key</h1>
      <p>
        Without an admin key the API for administrators is disabled, and the dashboard has nothing to show.
        Heartbeats of agents are still accepted.
      </p>
      <ul>
        <li>
          In Kubernetes, set one of the chart values <code>adminKey.existingSecret</code>,{' '}
          <code>adminKey.generate</code> or <code>adminKey.value</code>, and run <code>helm upgrade</code>.
        </li>
        <li>
          Elsewhere, start the control plane with <code>PLATFORM_ADMIN_KEY</code>, at least 16 characters.
        </li>
      </ul>
      <Button kind="primary" onClick={retrySignIn}>
        Enter a key
      </Button>
    </div>
  );
}
