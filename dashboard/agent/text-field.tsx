import type { ComponentChildren, TargetedInputEvent } from 'preact';
import { useId } from 'preact/hooks';

export interface TextFieldProps {
  label: string;
  value: string;
  /** The message under the field; null: the value is valid, or not checked yet. */
  error: string | null;
  onInput(value: string): void;
  type?: 'text' | 'datetime-local';
  /** Text below the label. */
  hint?: ComponentChildren;
  /** The options of a selection instead of a text. */
  options?: readonly { value: string; label: string }[];
}

/** A labelled field with its error. */
export function TextField(props: TextFieldProps) {
  const { label, value, error, onInput, type = 'text', hint, options } = props;
  const id = useId();
  const common = {
    id,
    value,
    'aria-invalid': error !== null,
    'aria-describedby': `${id}-hint ${id}-error`,
  };
  const typed = {
    ...common,
    autocomplete: 'off',
    spellcheck: false,
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => onInput(event.currentTarget.value),
  };
  const input =
    type === 'text' ? <input {...typed} type="text" /> : <input {...typed} type="datetime-local" />;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div id={`${id}-hint`} class="field-hint">
        {hint}
      </div>
      {options === undefined ? (
        input
      ) : (
        <select {...common} onChange={(event) => onInput(event.currentTarget.value)}>
          {value === '' && <option value="">Select…</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
      <p id={`${id}-error`} class="field-error">
        {error !== null && `${label} ${error}`}
      </p>
    </div>
  );
}
