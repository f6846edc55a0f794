// The SDKs of the vendors, in a bundle of their own (scripts/build.mjs): it is loaded for the first request to a model, so that
// neither the start of the CLI nor the memory of the sidecar depends on it. Import this file only with `await import`.

export const loadAnthropic = async () => (await import('@anthropic-ai/sdk')).default;
export const loadOpenai = async () => (await import('openai')).default;
