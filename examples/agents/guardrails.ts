import type { Guardrail } from '../../core/manifest/manifest.ts';

/** Result of a guardrail: the possibly changed text, and whether the turn is blocked. */
export interface GuardrailResult {
  text: string;
  blocked: boolean;
}

type Check = (text: string, declared: Guardrail) => GuardrailResult;

/** Guardrails of the example agents. Other declared guardrails do not run and are reported as a gap. */
const GUARDRAILS: Readonly<Partial<Record<Guardrail['type'], Check>>> = {
  'pii-detector': (text) => ({ text: scrubPersonalData(text), blocked: false }),
  'topic-filter': (text, { blockedTopics = [] }) => ({
    text,
    blocked: blockedTopics.some((topic) => text.toLowerCase().includes(topic.toLowerCase())),
  }),
  'prompt-injection': (text) => ({ text, blocked: INJECTION.test(text) }),
  'toxicity-filter': (text, { threshold = 0.7 }) => ({ text, blocked: toxicityOf(text) >= threshold }),
};

const INJECTION = /\b(ignore|forget|disregard)\b.{0,30}\b(instructions|rules|prompt)\b/i;

/** The result of one declared guardrail; null if this agent does not implement it. */
export function runGuardrail(declared: Guardrail, text: string): GuardrailResult | null {
  return GUARDRAILS[declared.type]?.(text, declared) ?? null;
}

const PERSONAL: readonly { label: string; pattern: RegExp; isReal?: (match: string) => boolean }[] = [
  { label: 'email', pattern: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g },
  { label: 'iban', pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g },
  { label: 'card', pattern: /\b\d(?:[ -]?\d){12,18}\b/g, isReal: isLuhn },
  {
    label: 'phone',
    pattern: /(?<![\w.])(?:\+\d{1,3}(?:[ /-]?\d{2,6}){2,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})(?![ -]?\d)/g,
  },
];

/** Replaces e-mail addresses, IBANs, card and telephone numbers with their kind in brackets. */
export function scrubPersonalData(text: string): string {
  return PERSONAL.reduce(
    (scrubbed, { label, pattern, isReal }) =>
      scrubbed.replace(pattern, (match) => (isReal?.(match) === false ? match : `[${label}]`)),
    text,
  );
}

function isLuhn(digits: string): boolean {
  const sum = [...digits.replace(/\D/g, '')].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

const HARSH = /\b(idiot|stupid|moron|worthless|fool|hate you|shut up)\b/gi;

/** 0..1: each harsh word adds 0.4. A word list is not a classifier but is sufficient for an example. */
export function toxicityOf(text: string): number {
  return Math.min(1, (text.match(HARSH)?.length ?? 0) * 0.4);
}
