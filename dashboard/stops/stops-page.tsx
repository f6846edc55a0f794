import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import { Loaded } from '../agent/loaded.tsx';
import { REFRESH_MS } from '../agent/types.ts';
import { useResource } from '../api/resource.ts';
import { NoRight } from '../fleet/empty-fleet.tsx';
import { formatTime } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { mayReadSome } from '../permissions.ts';
import { me } from '../session.ts';
import { ResumeButton, STOPS_PATH } from './resume-dialog.tsx';
import { ALL_AGENTS, ALL_WORD } from './stop-draft.ts';
import { StopButton } from './stop-dialog.tsx';
import { scopeOf } from './stop-text.ts';

/** All stops, to set one for all agents, and to end each. */
export function StopsPage() {
  const stops = useResource<StopEntry[]>(STOPS_PATH, { refreshMs: REFRESH_MS });
  return (
    <div class="detail-page">
      <div class="page-header wrap">
        <h1>Stops</h1>
        {me.value?.can.stop === '*' && (
          <StopButton
            title="Stop all agents"
            target={ALL_AGENTS}
            word={ALL_WORD}
            onStopped={() => stops.reload()}
          >
            Stop all agents…
          </StopButton>
        )}
      </div>
      <Loaded resource={stops} what="stops">
        {(all) => (all.length === 0 ? <NoStops /> : <StopTable stops={all} onResumed={stops.reload} />)}
      </Loaded>
    </div>
  );
}

const FIRST_STOP = `kubectl create -f - <<'END'
apiVersion: platform.io/v1
kind: AgentStop
metadata: { generateName: stop-, namespace: NAMESPACE }
spec: { agents: [AGENT], reason: "wrong refunds since 14:00" }
END`;

function NoStops() {
  if (!mayReadSome(me.value)) return <NoRight />;
  return (
    <Empty title="No agent is stopped">
      <p>
        A stop rejects the requests of an agent, and its calls through egress lanes, within about a second.
        Use it when an agent does harm. Stop one agent on its page, or with kubectl:
      </p>
      <CodeBlock text={FIRST_STOP} label="Command that stops an agent" />
      <p>Delete the AgentStop to resume. Without agents in its spec, it stops the namespace:</p>
      <CodeBlock text="kubectl delete agentstop -n NAMESPACE NAME" label="Command that ends a stop" />
    </Empty>
  );
}

function StopTable({ stops, onResumed }: { stops: readonly StopEntry[]; onResumed(): void }) {
  return (
    <Card title="Active stops">
      <DataTable
        caption="Active stops"
        rows={stops}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Agents', render: (stop) => scopeOf(stop) },
          { title: 'Reason', render: ({ reason }) => reason },
          { title: 'Stopped by', render: ({ by }) => by ?? 'not recorded' },
          { title: 'Since', render: ({ since }) => <Ago time={since} /> },
          { title: 'Until', render: ({ until }) => (until === undefined ? 'no end' : formatTime(until)) },
          { title: 'Stop', render: (stop) => <Id stop={stop} /> },
          { title: 'Action', render: ({ id }) => <ResumeButton id={id} onResumed={onResumed} /> },
        ]}
      />
    </Card>
  );
}

function Id({ stop: { id, stored } }: { stop: StopEntry }) {
  return (
    <>
      <code>{id}</code>{' '}
      {!stored && (
        <span class="note-tag is-warn" title="It applies. It is stored when the API server is back.">
          not stored yet
        </span>
      )}
    </>
  );
}
