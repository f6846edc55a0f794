import { Button } from '../parts/button.tsx';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { saveFile } from '../parts/save-file.ts';
import { agentPath } from './agent-path.ts';
import type { TabProps } from './types.ts';

/** The response of the API, to copy or to save. */
export function RawTab({ detail }: TabProps) {
  const text = JSON.stringify(detail, null, 2);
  return (
    <Card
      title="Raw data"
      actions={
        <Button
          onClick={() => saveFile(`${detail.namespace}-${detail.agentName}.json`, 'application/json', text)}
        >
          Download JSON
        </Button>
      }
    >
      <p>
        Response of <code>GET {agentPath(detail)}</code>.
      </p>
      <CodeBlock text={text} label={`JSON of ${detail.agentName}`} />
    </Card>
  );
}
