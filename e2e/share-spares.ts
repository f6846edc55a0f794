// Jest's globalSetup of the API server suite: starts the API server for the next test file while a file runs.
import { closeAtTheEnd } from './close-shared.ts';
import { startOwnControlPlane, whyNoControlPlane } from './cluster/control.ts';
import { openSpares, SPARES } from './cluster/spare.ts';

export default async function shareSpares(): Promise<void> {
  if (whyNoControlPlane() !== undefined) return;
  const spares = await openSpares(startOwnControlPlane);
  process.env[SPARES] = spares.path;
  closeAtTheEnd(spares.close);
}
