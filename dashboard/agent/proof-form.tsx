import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, post } from '../api/client.ts';
import { useResource } from '../api/resource.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { agentPath } from './agent-path.ts';
import { Loaded } from './loaded.tsx';
import {
  EMPTY_DRAFT,
  errorsOfResponse,
  validateDraft,
  type ProofErrors,
  type ProofField,
} from './proof-draft.ts';
import { TextField, type TextFieldProps } from './text-field.tsx';
import type { AgentName, RuleState } from '../../core/shapes/rule-state.ts';

export interface ProofFormProps {
  agent: AgentName;
  onStored(): void;
}

/** Submits a proof for a compliance rule. Errors of the server are shown at their fields. */
export function ProofForm(props: ProofFormProps) {
  const rules = useResource<RuleState[]>('/api/v1/rules');
  return (
    <Loaded resource={rules} what="rules">
      {(all) => <Fields {...props} rules={all.filter(({ kind }) => kind === 'compliance')} />}
    </Loaded>
  );
}

function Fields({ rules, ...props }: ProofFormProps & { rules: RuleState[] }) {
  const { element, draft, setDraft, errors, isSending, submit } = useProof(props);
  const field = (name: ProofField): Pick<TextFieldProps, 'value' | 'error' | 'onInput'> => ({
    value: draft[name],
    error: errors[name] ?? null,
    onInput: (value) => setDraft({ ...draft, [name]: value }),
  });
  return (
    <form
      ref={element}
      class="proof-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <TextField
        {...field('ruleId')}
        label="Rule"
        hint="The compliance rule that the test checked."
        options={rules.map(({ id, title }) => ({ value: id, label: `${id}: ${title}` }))}
      />
      <TextField
        {...field('verifiedBy')}
        label="Verified by"
        hint="A person or a system, such as a CI job."
      />
      <TextField {...field('method')} label="Method" hint="What was tested, and the result." />
      <TextField
        {...field('expiresAt')}
        label="Expires at"
        type="datetime-local"
        hint="Optional, in the time zone of this browser."
      />
      <p class="field-error" role="alert">
        {errors.form}
      </p>
      <p class="form-actions wrap">
        <Button kind="primary" type="submit" isDisabled={isSending}>
          {isSending ? 'Submitting…' : 'Submit proof'}
        </Button>
      </p>
    </form>
  );
}

function useProof({ agent, onStored }: ProofFormProps) {
  const element = useRef<HTMLFormElement | null>(null);
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [errors, setErrors] = useState<ProofErrors>({});
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  const submit = async (): Promise<void> => {
    const valid = validateDraft(draft, new Date());
    if (!valid.ok) {
      setErrors(valid.errors);
      return;
    }
    setErrors({});
    setSending(true);
    try {
      await post(agentPath(agent, `/proof/rule/${encodeURIComponent(valid.ruleId)}`), valid.body);
      setDraft(EMPTY_DRAFT);
      announce(`Proof of ${valid.ruleId} stored. The agent receives it with its next heartbeat.`);
      onStored();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      const where = `You may not submit proofs in namespace ${agent.namespace}`;
      setErrors(failure.kind === 'forbidden' ? { form: where } : errorsOfResponse(failure));
    } finally {
      setSending(false);
    }
  };
  return { element, draft, setDraft, errors, isSending, submit };
}
