import { count } from './common.ts';
import { named, text, type Field } from './field.ts';
import type { REQUESTED_MODEL } from './hidden-members.ts';
import { either, list, object, type ObjectOf, type TypeOf } from './object.ts';
import { modelMembers } from './usage.ts';

const { modelId, promptTokens, completionTokens, totalTokens } = modelMembers;
const tokens = { promptTokens, completionTokens, totalTokens };

/** Token counts of one or more model calls. */
export interface TokenCounts extends ObjectOf<typeof tokens> {}

const callMembers = object('One model call and its tokens.', { modelId, ...tokens });
export interface ModelCall extends TypeOf<typeof callMembers> {
  [REQUESTED_MODEL]?: true;
}
const modelCall: Field<ModelCall> = callMembers;
const calls: Field<readonly ModelCall[]> = list('Present if there are several calls.', modelCall);

const responseUsage = object('Sum over the calls of the response.', {
  ...callMembers.members,
  'calls?': calls,
  'callsWithoutUsage?': count('Number of calls without usage; absent: there are none.'),
});

/** Usage of one response, summed over its calls. */
export interface ResponseUsage extends TypeOf<typeof responseUsage> {
  [REQUESTED_MODEL]?: true;
}

const unknown = object('The usage is not known.', { unavailable: text('Why.') });

/** Usage of one proxied request, read from its response, or the reason why the usage is unknown. */
export type RequestUsage = ResponseUsage | TypeOf<typeof unknown>;
export const requestUsage: Field<RequestUsage> = named(
  'RequestUsage',
  either('Usage of one request, or why it is unknown.', responseUsage, unknown),
);
