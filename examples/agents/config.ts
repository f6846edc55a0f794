import {
  LOG_FIELDS,
  optionalHttpUrl,
  optionalText,
  port,
  readEnv,
  text,
  type EnvField,
} from '../../runtime/env.ts';
import { FAULTS, PROFILES, type Fault, type Profile } from './faults.ts';

const profile: EnvField<Profile> = {
  wanted: `one of ${Object.keys(PROFILES).join(', ')} (default compliant)`,
  parse: (raw = 'compliant') =>
    Object.hasOwn(PROFILES, raw) ? { ok: true, value: raw as Profile } : { ok: false },
};

/** null: the faults of the profile. `none` is an empty list. */
const faults: EnvField<Fault[] | null> = {
  wanted: `none, or a comma-separated list of ${Object.keys(FAULTS).join(', ')} (default: those of the profile)`,
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    const names = raw === 'none' ? [] : raw.split(',').map((name) => name.trim());
    return names.every((name) => Object.hasOwn(FAULTS, name))
      ? { ok: true, value: names as Fault[] }
      : { ok: false };
  },
};

const FIELDS = {
  ...LOG_FIELDS,
  AGENT_PROFILE: profile,
  AGENT_FAULTS: faults,
  HOST: text('::'),
  PORT: port(8000),
  /** Default: agent.yaml of the profile, next to this program. */
  MANIFEST_PATH: optionalText,
  /** Name in the agent's reports; default: the name in the manifest. */
  AGENT_NAME: optionalText,
  /** URL of a real model; unset: the built-in model. */
  OPENAI_BASE_URL: optionalHttpUrl,
};

export const readConfig = (env: Readonly<Record<string, string | undefined>>) => readEnv(env, FIELDS);
