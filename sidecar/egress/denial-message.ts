import { toolsOf, type ModelRequest } from '../../core/egress/model-wire.ts';
import type { EgressPolicy } from './egress-policy.ts';
import { namesIn } from './shown-names.ts';

/** The text of a denial, with the models and tools of the call that are not declared or not allowed. */
export function denialMessage(
  policy: EgressPolicy,
  violations: readonly string[],
  {
    models,
    offered,
  }: { models: readonly string[]; offered: Pick<ModelRequest, 'toolsOffered' | 'vendorTools'> },
): string {
  const tools = toolsOf(offered);
  const details = [
    ...detail('model', violations.includes('model_not_allowed') ? models : []),
    ...detail('tools', violations.includes('tool_not_allowed') ? policy.notAllowedIn(tools) : []),
    ...detail('model', violations.includes('model_not_declared') ? policy.undeclaredModels(models) : []),
    ...detail(
      'tools',
      violations.includes('tool_not_declared') ? policy.undeclaredIn(tools, offered.vendorTools) : [],
    ),
  ];
  const about = details.length === 0 ? '' : ` (${details.join('; ')})`;
  return `The policy of this agent denies the call: ${violations.join(', ')}${about}`;
}

const detail = (what: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`${what} ${namesIn(names).join(', ')}`];
