import { conditionValue } from '../../core/observation/condition-value.ts';
import type { ConditionState } from '../../core/observation/condition-table.ts';

/** A condition by word, color and sign. The reason is the tooltip: a page that has room shows it as text too. */
export function ConditionBadge({ status, reason, message }: ConditionState) {
  const title = [reason, message].filter((each) => each !== '').join(': ');
  return (
    <span class={`condition condition-${status.toLowerCase()}`} title={title}>
      {conditionValue(status)}
    </span>
  );
}
