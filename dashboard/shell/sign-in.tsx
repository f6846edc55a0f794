import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { signIn } from '../session.ts';

type Reason = null | 'wrong-key' | 'expired-key';

const MESSAGES = {
  'wrong-key': 'This admin key is wrong. Check that you copied the whole key.',
  'expired-key': 'The admin key of the control plane has changed. Sign in with the new key.',
};

const READ_KEY =
  "kubectl -n platform-system get secret agent-compliance-admin -o 'jsonpath={.data.admin-key}' | base64 -d";

/** The form for the admin key. `reason`: why the session ended. */
export function SignIn({ reason }: { reason: Reason }) {
  return (
    <div class="sign-in">
      <h1>Sign in</h1>
      <KeyForm reason={reason} />
      <h2>Where the key comes from</h2>
      <p>
        The control plane has the admin key in the variable <code>PLATFORM_ADMIN_KEY</code>. In Kubernetes,
        the key is in the Secret of the release, set by the chart value <code>adminKey</code>:
      </p>
      <CodeBlock text={READ_KEY} label="Command that prints the admin key" />
      <p class="muted">
        The key stays in this browser tab until you sign out or close the tab. It is sent only to this control
        plane.
      </p>
    </div>
  );
}

function KeyForm({ reason }: { reason: Reason }) {
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = async (): Promise<void> => {
    const key = input.current?.value.trim() ?? '';
    setBusy(true);
    const error = key === '' ? null : await signIn(key);
    setBusy(false);
    setFailure(key === '' ? 'Enter the admin key.' : messageOf(error));
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
      <label for="admin-key">Admin key</label>
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
