import type { Manifest } from '../../core/manifest/manifest.ts';

/** Names of fields in a manifest, in lower case without separators, by the pattern of the generated pii-detector. */
export const PERSONAL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  email: ['email', 'emails', 'emailaddress', 'mail'],
  iban: ['iban', 'bankaccount', 'accountnumber', 'bankaccountnumber'],
  card: ['card', 'cardnumber', 'creditcard', 'creditcardnumber', 'paymentcard', 'debitcard'],
  ssn: ['ssn', 'socialsecurity', 'socialsecuritynumber'],
  phone: ['phone', 'phonenumber', 'telephone', 'mobile', 'mobilenumber'],
};

/** Declared fields of pii-detectors for which the project has no pattern; each once. */
export function unknownPersonalFields({ spec }: Manifest): string[] {
  const known = new Set(Object.values(PERSONAL_FIELDS).flat());
  const declared = [...(spec.guardrails?.input ?? []), ...(spec.guardrails?.output ?? [])]
    .filter(({ type }) => type === 'pii-detector')
    .flatMap(({ fields }) => fields ?? []);
  return [...new Set(declared.filter((field) => !known.has(folded(field))))];
}

const folded = (field: string): string => field.toLowerCase().replaceAll(/[\s._-]/g, '');
