import type { ComponentChildren } from 'preact';

export interface ButtonProps {
  kind?: 'primary' | 'danger';
  /** `submit` in a form; default: `button`. */
  type?: 'button' | 'submit';
  isDisabled?: boolean;
  /** Name for screen readers, if the text is not enough. */
  label?: string;
  onClick?: () => void;
  children?: ComponentChildren;
}

export function Button({ kind, type = 'button', isDisabled = false, label, onClick, children }: ButtonProps) {
  return (
    <button
      type={type}
      class={kind === undefined ? 'button' : `button button-${kind}`}
      disabled={isDisabled}
      aria-label={label}
      onClick={() => onClick?.()}
    >
      {children}
    </button>
  );
}
