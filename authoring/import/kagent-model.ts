import type { Model } from '../../core/manifest/manifest.ts';
import { present } from '../../core/untrusted/present.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { VENDORS } from '../../core/vendors/vendors.ts';
import type { Cursor } from './cursor.ts';
import type { Remark } from './draft.ts';
import { isKagent } from './kagent-tools.ts';
import { keyVariable } from './names.ts';

/** The name that kagent uses if an agent names no ModelConfig. */
export const DEFAULT_MODEL_CONFIG = 'default-model-config';

/** Providers of a ModelConfig: their name in manifests, and the member with their settings. */
const PROVIDERS: Readonly<Record<string, { provider: string; settings: string; variable?: string }>> = {
  OpenAI: { provider: 'openai', settings: 'openAI' },
  Anthropic: { provider: 'anthropic', settings: 'anthropic' },
  AzureOpenAI: { provider: 'azure', settings: 'azureOpenAI', variable: VENDORS.azure.keys[0] },
  Ollama: { provider: 'ollama', settings: 'ollama' },
  Gemini: { provider: 'google', settings: 'gemini' },
  GeminiVertexAI: { provider: 'google-vertex', settings: 'geminiVertexAI' },
  AnthropicVertexAI: { provider: 'anthropic-vertex', settings: 'anthropicVertexAI' },
};

/** The model of a ModelConfig; without a model if the source does not have the ModelConfig. */
export function kagentModel(
  reference: Cursor,
  others: readonly Cursor[],
): { model?: Model; remarks: Remark[] } {
  const wanted = reference.text();
  const name = wanted?.replace(/^.*\//, '') ?? DEFAULT_MODEL_CONFIG;
  const config = others.find(
    (other) => isKagent(other, 'ModelConfig') && other.peek('metadata', 'name') === name,
  );
  const spec = config?.at('spec');
  const id = spec?.at('model').text();
  if (config === undefined || spec === undefined || id === undefined) {
    const text = `Placeholder: the source does not have the ModelConfig ${quoted(name)}.`;
    return { remarks: [{ path: ['spec', 'model', 'provider'], text }] };
  }
  for (const key of ['name', 'namespace']) config.at('metadata', key).use();
  const given = spec.at('provider').text() ?? 'OpenAI';
  const known = Object.hasOwn(PROVIDERS, given) ? PROVIDERS[given] : undefined;
  const provider = known?.provider ?? given.toLowerCase();
  const parameters = known === undefined ? {} : parametersOf(spec.at(known.settings));
  const model: Model = {
    provider,
    id,
    apiKey: `$env:${known?.variable ?? keyVariable(provider)}`,
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
  return { model, remarks: [{ path: ['spec', 'model', 'apiKey'], text: keyRemark(spec) }] };
}

/** The manifest names the variable of the agent's container; kagent fills it from a Secret. */
function keyRemark(spec: Cursor): string {
  const secret = spec.at('apiKeySecret').text() ?? spec.at('apiKeySecretRef').text();
  const key = spec.at('apiKeySecretKey').text();
  if (secret === undefined) return 'Placeholder: the source does not name a Secret with the key.';
  const place = key === undefined ? '' : `the key ${quoted(key)} of `;
  return `kagent sets it from ${place}the Secret ${quoted(secret)}.`;
}

function parametersOf(settings: Cursor): NonNullable<Model['parameters']> {
  const integer = (key: string) =>
    settings.at(key).number({ min: 1, max: Number.MAX_SAFE_INTEGER, isInteger: true });
  const penalty = (key: string) => settings.at(key).number({ min: -2, max: 2 });
  return present({
    temperature: settings.at('temperature').number({ min: 0, max: 2 }),
    maxTokens: integer('maxTokens') ?? integer('maxOutputTokens'),
    topP: settings.at('topP').number({ min: 0, max: 1 }),
    frequencyPenalty: penalty('frequencyPenalty'),
    presencePenalty: penalty('presencePenalty'),
  });
}
