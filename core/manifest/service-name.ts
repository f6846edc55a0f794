import type { RequiredService } from './manifest.ts';

/** The name that the checks of a service go by: its own, else its type. */
export function serviceNameOf(service: RequiredService): string {
  return service.name ?? service.type ?? '';
}
