/** Entries of the OWASP Top 10 for LLM Applications, 2025. */
export const OWASP = {
  promptInjection: 'OWASP LLM01:2025 Prompt Injection',
  disclosure: 'OWASP LLM02:2025 Sensitive Information Disclosure',
  supplyChain: 'OWASP LLM03:2025 Supply Chain',
  poisoning: 'OWASP LLM04:2025 Data and Model Poisoning',
  outputHandling: 'OWASP LLM05:2025 Improper Output Handling',
  agency: 'OWASP LLM06:2025 Excessive Agency',
  promptLeakage: 'OWASP LLM07:2025 System Prompt Leakage',
  vectors: 'OWASP LLM08:2025 Vector and Embedding Weaknesses',
  misinformation: 'OWASP LLM09:2025 Misinformation',
  consumption: 'OWASP LLM10:2025 Unbounded Consumption',
} as const;
