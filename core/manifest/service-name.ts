import type { RequiredService } from './manifest.ts';

/** The service name in check ids: `name`, or `type` if there is no name. */
export function serviceNameOf(service: RequiredService): string {
  return service.name ?? service.type ?? '';
}
