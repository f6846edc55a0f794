/** Entries of the OWASP Top 10 for LLM Applications of 2026, each with its number of 2025. crosswalk.json has the sources. */
export const OWASP = {
  promptInjection: 'OWASP LLM01:2026 Prompt Injection (LLM01:2025)',
  disclosure: 'OWASP LLM02:2026 Sensitive Information Disclosure (LLM02:2025)',
  agency: 'OWASP LLM03:2026 Excessive Agency (LLM06:2025)',
  supplyChain: 'OWASP LLM04:2026 Supply Chain (LLM03:2025)',
  poisoning: 'OWASP LLM05:2026 Data and Model Poisoning (LLM04:2025)',
  consumption: 'OWASP LLM06:2026 Unbounded Consumption (LLM10:2025)',
  misinformation: 'OWASP LLM07:2026 Misinformation (LLM09:2025)',
  contextExposure: 'OWASP LLM08:2026 Hidden Context Exposure (LLM07:2025 System Prompt Leakage)',
  vectors: 'OWASP LLM09:2026 Vector and Embedding Weaknesses (LLM08:2025)',
  outputHandling: 'OWASP LLM10:2026 Improper Output Handling (LLM05:2025)',
} as const;
