import type { Severity } from '../../core/shapes/values.ts';

/** One result of a command, in a form that the tools of a CI system can show at its line. */
export interface Finding {
  /** The code that is used everywhere for this finding: rule id, gap property or drift code. */
  code: string;
  /** Which of several findings with this code, for example a manifest path; absent: the code has one finding. */
  item?: string;
  severity: Severity;
  /** What the code means, for any file. */
  title: string;
  /** What was found here; one sentence. */
  message: string;
  /** What to do about any finding with this code; empty: nothing. */
  help: string;
  /** Entries of public lists that the code is about; absent: none. */
  references?: readonly string[];
  /** Path as typed. */
  file: string;
  /** 1-based. */
  line: number;
  /** 1-based. */
  column: number;
}

/** All findings of one run of a command. */
export interface FindingsReport {
  /** The command, for example `audit`. */
  command: string;
  /** What was checked, for example the path of the manifest as typed. */
  file: string;
  /** One line for people, for example `declared 75/100 B`. */
  summary: string;
  findings: readonly Finding[];
  /** Codes of the rules that passed. */
  passed: readonly string[];
}

/** Severity as SARIF and GitHub name it. */
export const LEVELS = {
  critical: 'error',
  high: 'error',
  medium: 'warning',
  low: 'note',
} as const satisfies Record<Severity, string>;
