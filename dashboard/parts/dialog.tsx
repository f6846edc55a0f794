import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

export interface DialogProps {
  title: string;
  open: boolean;
  /** Called for Escape and the close button too. */
  onClose: () => void;
  children?: ComponentChildren;
}

/** A modal dialog. The browser keeps the focus inside, and returns it afterwards. */
export function Dialog({ title, open, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (open) element.current?.showModal();
    else element.current?.close();
  }, [open]);
  return (
    <dialog ref={element} class="dialog" aria-labelledby={id} onClose={() => open && onClose()}>
      {open && (
        <>
          <header class="card-header wrap">
            <h2 id={id}>{title}</h2>
            <Button label="Close dialog" onClick={onClose}>
              <span aria-hidden="true">×</span>
            </Button>
          </header>
          {children}
        </>
      )}
    </dialog>
  );
}
