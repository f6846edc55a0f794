import { useEffect, useRef, useState } from 'preact/hooks';
import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import { TextField, type TextFieldProps } from '../agent/text-field.tsx';
import { post } from '../api/client.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { useSending } from '../parts/use-sending.ts';
import { STOPS_PATH } from './resume-dialog.tsx';
import {
  DURATIONS,
  EMPTY_STOP,
  errorsOf,
  membersOf,
  type StopDraft,
  type StopErrors,
  type StopTarget,
} from './stop-draft.ts';

export interface StopButtonProps {
  /** Text of the button that opens the dialog. */
  children: string;
  /** Title of the dialog, and text of the button that stops. */
  title: string;
  target: StopTarget;
  /** A word that must be typed. */
  word?: string;
  onStopped(stop: StopEntry): void;
}

/** Stops agents, after a reason was entered. */
export function StopButton({ children, ...props }: StopButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {children}
      </Button>
      <Dialog title={props.title} open={isOpen} onClose={close}>
        <StopForm {...props} onClose={close} />
      </Dialog>
    </>
  );
}

function StopForm(props: Omit<StopButtonProps, 'children'> & { onClose(): void }) {
  const { title, target, word, onStopped, onClose } = props;
  const element = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState(EMPTY_STOP);
  const [errors, setErrors] = useState<StopErrors>({});
  useEffect(() => element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [errors]);
  const { error, isSending, send } = useSending(async () => {
    const stop = await post<StopEntry>(STOPS_PATH, { ...target, ...membersOf(draft, new Date()) });
    announce('Stop requested');
    onClose();
    onStopped(stop);
  });
  const submit = (): void => {
    const found = errorsOf(draft, new Date(), word);
    setErrors(found);
    if (Object.keys(found).length === 0) send();
  };
  const field = (name: keyof StopDraft): Pick<TextFieldProps, 'value' | 'error' | 'onInput'> => ({
    value: draft[name],
    error: errors[name] ?? null,
    onInput: (value) => setDraft({ ...draft, [name]: value }),
  });
  return (
    <form
      ref={element}
      class="stop-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Effects />
      <TextField
        {...field('reason')}
        label="Reason"
        hint="Agents and operators see it. Clients of the agents do not."
      />
      <TextField {...field('duration')} label="Duration" options={DURATIONS} />
      {draft.duration === 'date' && (
        <TextField
          {...field('until')}
          label="Ends at"
          type="datetime-local"
          hint="In the time zone of this browser."
        />
      )}
      {word !== undefined && (
        <TextField {...field('word')} label={`Type the word ${word}`} hint="No agent is left out." />
      )}
      {error !== null && <Failure error={error} retry={submit} namespace={target.namespace} />}
      <p class="form-actions wrap">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" type="submit" isDisabled={isSending}>
          {isSending ? 'Stopping…' : title}
        </Button>
      </p>
    </form>
  );
}

/** What a stop does, and what it cannot do. */
function Effects() {
  return (
    <>
      <p>
        New requests get status 503, and open responses and connections end. With egress lanes, calls to
        models, tools and hosts are rejected as well, and open ones end. Health checks, grade and phase stay
        as they are.
      </p>
      <p>
        <strong>Not stopped:</strong> work that another server has already accepted, such as a tool call in
        progress; calls past the egress lanes; the own work of an agent without lanes. The pods keep running.
      </p>
    </>
  );
}
