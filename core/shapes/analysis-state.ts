import { isoTime, nullable, oneOf, text } from './field.ts';
import { namedObject, type TypeOf } from './object.ts';

/** `llm` of `GET /gap`. */
export const analysisState = namedObject('AnalysisState', 'State of the LLM analysis.', {
  status: oneOf(
    "`off`: no usable key. `pending`: the analysis of this report has not ended yet. `ready`: the issues belong to this report. `failed`: the last request failed. `budget`: today's limits do not allow another request.",
    ['off', 'pending', 'ready', 'failed', 'budget'],
  ),
  model: nullable(text('The model of the analysis whose issues are shown; null: no analysis yet.')),
  analysedAt: nullable(
    isoTime('When this analysis ended; earlier than the report if nothing that matters has changed since.'),
  ),
  reason: nullable(text('Why there is no current analysis.')),
});
export interface AnalysisState extends TypeOf<typeof analysisState> {}
