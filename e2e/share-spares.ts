// Jest's globalSetup of the suite that needs an API server: that of the next test file starts while one runs.
import { closeAtTheEnd } from './close-shared.ts';
import { startOwnControlPlane, whyNoControlPlane } from './cluster/control.ts';
import { openSpares, SPARES } from './cluster/spare.ts';

export default async function shareSpares(): Promise<void> {
  if (whyNoControlPlane() !== undefined) return;
  const spares = await openSpares(startOwnControlPlane);
  process.env[SPARES] = spares.path;
  closeAtTheEnd(spares.close);
}
