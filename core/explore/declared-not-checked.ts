import type { Manifest } from '../manifest/manifest.ts';

/** Manifest paths that the product records and cannot check: nothing that it sees tells whether they hold. */
const UNCHECKED: readonly { path: string; isDeclared(manifest: Manifest): boolean }[] = [
  { path: 'spec.model.parameters', isDeclared: ({ spec }) => spec.model.parameters !== undefined },
  { path: 'spec.model.fallback', isDeclared: ({ spec }) => spec.model.fallback !== undefined },
  {
    path: 'spec.model.costControls.alertAtUSD',
    isDeclared: ({ spec }) => spec.model.costControls?.alertAtUSD !== undefined,
  },
  { path: 'spec.prompts', isDeclared: ({ spec }) => spec.prompts !== undefined },
  { path: 'spec.memory.hygiene', isDeclared: ({ spec }) => spec.memory?.hygiene !== undefined },
  {
    path: 'spec.requires.minimumMemoryMB',
    isDeclared: ({ spec }) => spec.requires?.minimumMemoryMB !== undefined,
  },
  { path: 'spec.requires.nodeVersion', isDeclared: ({ spec }) => spec.requires?.nodeVersion !== undefined },
  {
    path: 'spec.requires.pythonVersion',
    isDeclared: ({ spec }) => spec.requires?.pythonVersion !== undefined,
  },
  { path: 'spec.evaluation.metrics', isDeclared: ({ spec }) => spec.evaluation?.metrics !== undefined },
  { path: 'spec.observability.metrics', isDeclared: ({ spec }) => spec.observability?.metrics !== undefined },
  { path: 'spec.observability.logging', isDeclared: ({ spec }) => spec.observability?.logging !== undefined },
  {
    path: 'spec.compliance.auditSchedule',
    isDeclared: ({ spec }) => spec.compliance?.auditSchedule !== undefined,
  },
  { path: 'spec.api.auth', isDeclared: ({ spec }) => spec.api?.auth !== undefined },
  { path: 'spec.api.rateLimit', isDeclared: ({ spec }) => spec.api?.rateLimit !== undefined },
  { path: 'spec.api.corsOrigins', isDeclared: ({ spec }) => spec.api?.corsOrigins !== undefined },
  { path: 'spec.subagents', isDeclared: ({ spec }) => spec.subagents !== undefined },
  { path: 'spec.humanInTheLoop', isDeclared: ({ spec }) => spec.humanInTheLoop !== undefined },
];

/** What this manifest declares and nobody checks, by manifest path. */
export function declaredNotChecked(manifest: Manifest): string[] {
  return UNCHECKED.filter((row) => row.isDeclared(manifest)).map((row) => row.path);
}
