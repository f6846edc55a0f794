import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { controlPlaneRoutes } from '../control-plane/app.ts';
import type { ControlPlaneContext } from '../control-plane/context.ts';
import { controlPlaneDocument } from '../control-plane/routes/openapi.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { sidecarRoutes } from '../sidecar/app.ts';
import type { SidecarContext } from '../sidecar/context.ts';
import { sidecarDocument } from '../sidecar/openapi.ts';

const root = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** The documents that the processes serve at `/openapi.json`. Only the route tables are used; no handler runs. */
export const DOCUMENTS = {
  'control-plane': (): JsonSchema =>
    controlPlaneDocument(controlPlaneRoutes({ metrics: createMetrics() } as ControlPlaneContext), version),
  sidecar: (): JsonSchema =>
    sidecarDocument(
      sidecarRoutes({ metrics: createMetrics() } as SidecarContext, () => 0),
      version,
    ),
} as const;
