import { useState } from 'preact/hooks';
import { hasExpired } from '../../core/evidence/proof-expiry.ts';
import type { AgentName } from '../../core/shapes/rule-state.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { remove } from '../api/client.ts';
import { formatTime } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Card } from '../parts/card.tsx';
import { now } from '../parts/clock.ts';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { useSending } from '../parts/use-sending.ts';
import { agentPath } from './agent-path.ts';
import { may } from '../permissions.ts';
import { me } from '../session.ts';
import { RuleLink } from './links.tsx';
import { ProofForm } from './proof-form.tsx';
import type { TabProps } from './types.ts';

/** The proof records of the agent, to submit and to withdraw. */
export function ProofsTab({ detail, reload }: TabProps) {
  const [withdrawn, setWithdrawn] = useState<string | null>(null);
  const mayProve = may(me.value, 'prove', detail.namespace);
  return (
    <>
      <Card title="Proofs">
        <p class="intro">
          A proof is the result of a test outside the agent. Proofs of origin <q>local</q> were written where
          the agent itself can write, and do not count for the condition Compliant.
        </p>
        <ProofTable proofs={detail.status.proofs ?? []} onWithdraw={mayProve ? setWithdrawn : null} />
      </Card>
      {mayProve && (
        <Card title="Submit a proof">
          <ProofForm agent={detail} onStored={reload} />
        </Card>
      )}
      <Dialog
        title={`Withdraw the proof of ${withdrawn ?? ''}`}
        open={withdrawn !== null}
        onClose={() => setWithdrawn(null)}
      >
        {withdrawn !== null && (
          <Withdraw
            agent={detail}
            ruleId={withdrawn}
            onEnd={() => {
              setWithdrawn(null);
              reload();
            }}
          />
        )}
      </Dialog>
    </>
  );
}

interface ProofTableProps {
  proofs: readonly ProofRecord[];
  /** null: the reader may not withdraw proofs. */
  onWithdraw: ((ruleId: string) => void) | null;
}

function ProofTable({ proofs, onWithdraw }: ProofTableProps) {
  return (
    <DataTable
      caption="Proofs"
      rows={proofs}
      rowKey={({ ruleId }) => ruleId}
      empty="The agent has no proof."
      columns={[
        { title: 'Rule', render: ({ ruleId }) => <RuleLink id={ruleId} /> },
        { title: 'Origin', render: ({ origin }) => origin ?? 'not recorded' },
        { title: 'Verified by', render: ({ verifiedBy }) => verifiedBy },
        { title: 'Method', render: ({ method }) => method },
        { title: 'Verified', render: ({ verifiedAt }) => <Ago time={verifiedAt} /> },
        { title: 'Expires', render: (proof) => <Expiry proof={proof} /> },
        ...(onWithdraw === null ? [] : [withdrawColumn(onWithdraw)]),
      ]}
    />
  );
}

const withdrawColumn = (onWithdraw: (ruleId: string) => void): Column<ProofRecord> => ({
  title: 'Action',
  render: ({ ruleId }) => (
    <Button kind="danger" label={`Withdraw proof of ${ruleId}`} onClick={() => onWithdraw(ruleId)}>
      Withdraw
    </Button>
  ),
});

function Expiry({ proof }: { proof: ProofRecord }) {
  if (proof.expiresAt === undefined) return <span>never</span>;
  return (
    <>
      {formatTime(proof.expiresAt)}{' '}
      {hasExpired(proof, now.value) && <span class="note-tag is-bad">Expired</span>}
      {proof.state === 'stale' && (
        <span class="note-tag is-bad" title="The manifest, the model, the prompt or the lock has changed.">
          Stale
        </span>
      )}
    </>
  );
}

function Withdraw({ agent, ruleId, onEnd }: { agent: AgentName; ruleId: string; onEnd(): void }) {
  const { error, isSending, send } = useSending(async () => {
    await remove(agentPath(agent, `/proof/rule/${encodeURIComponent(ruleId)}`));
    announce(`Proof of ${ruleId} withdrawn`);
    onEnd();
  });
  return (
    <>
      <p>The proof stops counting with the next heartbeat of the agent. It can be submitted again.</p>
      {error !== null && <Failure error={error} retry={send} namespace={agent.namespace} />}
      <p class="form-actions wrap">
        <Button onClick={onEnd}>Cancel</Button>
        <Button kind="danger" isDisabled={isSending} onClick={send}>
          {isSending ? 'Withdrawing…' : 'Withdraw proof'}
        </Button>
      </p>
    </>
  );
}
