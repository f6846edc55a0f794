import { isEqual } from './equal.ts';
import { OTLP_PORT } from '../egress/ports.ts';
import type { Container, EnvVariable } from './pod.ts';

/**
 * The variables by which an OpenTelemetry SDK exports its spans to the sidecar. They apply to traces only, so metrics and logs
 * still go where the container sends them.
 */
const OTLP_VARIABLES: readonly (EnvVariable & { value: string })[] = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: `http://127.0.0.1:${OTLP_PORT}/v1/traces` },
  { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'http/protobuf' },
];

/** The name of the first of these variables that the container sets itself, with a value or a reference. */
export function ownOtlpVariable({ env = [] }: Container): string | undefined {
  return OTLP_VARIABLES.find(({ name }) => env.some((variable) => variable.name === name))?.name;
}

/** The container with both variables; the same object if the container sets one of them itself. */
export function addOtlpVariables(container: Container): Container {
  return ownOtlpVariable(container) === undefined
    ? { ...container, env: [...(container.env ?? []), ...OTLP_VARIABLES] }
    : container;
}

/** Undoes `addOtlpVariables`. A variable that was changed after the injection is kept. */
export function removeOtlpVariables(container: Container): Container {
  const { env = [], ...rest } = container;
  const others = env.filter((variable) => !OTLP_VARIABLES.some((added) => isEqual(added, variable)));
  if (others.length === env.length) return container;
  return others.length > 0 ? { ...container, env: others } : rest;
}
