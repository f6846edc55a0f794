import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import type { SignedOutReason } from '../next-session.ts';
import { signIn, signOnPath } from '../session.ts';

const MESSAGES = {
  'wrong-key': 'This key is wrong. Check that you copied the whole key.',
  'expired-key': 'The key of the control plane has changed. Sign in with the new key.',
};

const PRINT_KEY =
  "kubectl -n platform-system get secret agent-compliance-admin -o 'jsonpath={.data.admin-key}' | base64 -d";

/** Sign-in at the identity provider, and the form for a key. `reason`: why the session ended. */
export function SignIn({ reason }: { reason: SignedOutReason }) {
  return (
    <div class="sign-in">
      <h1>Sign in</h1>
      {reason === 'expired-session' && (
        <p class="stale" role="status">
          Your session has ended. Sign in again.
        </p>
      )}
      {signOnPath.value !== null && <SignOn path={signOnPath.value} />}
      <KeyForm reason={reason === 'expired-session' ? null : reason} />
      <h2>Where the key comes from</h2>
      <p>
        The control plane has the admin key in the variable <code>PLATFORM_ADMIN_KEY</code>. In Kubernetes,
        the key is in the Secret of the release, set by the chart value <code>adminKey</code>:
      </p>
      <CodeBlock text={PRINT_KEY} label="Command that prints the admin key" />
      <p>
        The read key, <code>PLATFORM_READ_KEY</code>, shows everything and changes nothing.
      </p>
      <p class="muted">
        The key stays in this browser tab until you sign out or close the tab. It is sent only to this control
        plane.
      </p>
    </div>
  );
}

/** A link, because the sign-in leaves the page. It comes back to the page of this address. */
function SignOn({ path }: { path: string }) {
  // Relative to the page, so that a proxy may serve the dashboard under a path.
  const href = `${path.replace(/^\//, '')}?to=${encodeURIComponent(`/${location.hash}`)}`;
  return (
    <a class="button button-primary" href={href}>
      Sign in with your identity provider
    </a>
  );
}

function KeyForm({ reason }: { reason: keyof typeof MESSAGES | null }) {
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    // With an identity provider, the form is the second choice.
    if (signOnPath.peek() === null) input.current?.focus();
  }, []);
  const submit = async (): Promise<void> => {
    const key = input.current?.value.trim() ?? '';
    setBusy(true);
    const error = key === '' ? null : await signIn(key);
    setBusy(false);
    setFailure(key === '' ? 'Enter a key.' : messageOf(error));
    input.current?.select();
  };
  const message = failure ?? (reason === null ? null : MESSAGES[reason]);
  return (
    <form
      class="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void submit();
      }}
    >
      <label for="admin-key">Admin key or read key</label>
      <input
        ref={input}
        id="admin-key"
        type="password"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={message !== null}
        aria-describedby="admin-key-message"
      />
      <p id="admin-key-message" class="field-error" role="alert">
        {message}
      </p>
      <Button kind="primary" type="submit">
        {isBusy ? 'Signing in…' : 'Sign in'}
      </Button>
    </form>
  );
}

/** null: the session has the reason. */
function messageOf(error: ApiError | null): string | null {
  return error === null || error.kind === 'wrong-key' ? null : `Could not sign in: ${error.detail}.`;
}
