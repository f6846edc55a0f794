import { conditionValue } from '../../core/observation/condition-value.ts';
import type { ConditionState } from '../../core/observation/condition-table.ts';

/** A condition by word, color and sign. The reason is the tooltip: a page that has room shows it as text too. */
export function ConditionBadge({ type, status, reason, message }: ConditionState & { type?: string }) {
  const title = [reason, message].filter((each) => each !== '').join(': ');
  // To be stopped is not a success, and to run is not a failure.
  const sign = type === 'Stopped' ? 'neutral' : status.toLowerCase();
  return (
    <span class={`condition condition-${sign}`} title={title}>
      {conditionValue(status)}
    </span>
  );
}
