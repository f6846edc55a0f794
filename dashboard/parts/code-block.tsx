import { announce } from './announce.ts';
import { Button } from './button.tsx';

/** Text to copy, such as a command. `label` names it for screen readers. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code-block">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      {/* Without TLS, browsers have no clipboard, except on localhost. */}
      {isSecureContext && (
        <Button label={`Copy: ${label}`} onClick={() => void copy(text)}>
          Copy
        </Button>
      )}
    </div>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied');
  } catch {
    announce('The browser did not allow copying');
  }
}
