import { knownHostsOf } from '../../core/census/known-hosts.ts';
import { declaredEgressOf } from '../../core/egress/declared.ts';
import { laneTargetsOf } from '../../core/egress/lane-use.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SidecarConfig } from '../config.ts';
import { ownPortsOf } from '../own-ports.ts';
import { Census } from './census.ts';
import { productHosts } from './product-hosts.ts';

export interface CreateCensusInput {
  config: SidecarConfig;
  /** The manifest that is in force now. */
  manifest: () => Manifest;
  clock: Clock;
  logger: Logger;
}

/** The census of a sidecar. Create it before the first connection of the process. */
export function createCensus({ config, manifest, clock, logger }: CreateCensusInput): Census {
  const product = productHosts(config);
  return new Census({
    isOn: config.CENSUS === 'on',
    ownPorts: ownPortsOf(config),
    knownHosts: () => {
      const lanes = laneTargetsOf(manifest(), config.EGRESS_LANES ?? []);
      return knownHostsOf(declaredEgressOf(manifest()).hosts, product, lanes);
    },
    clock,
    logger,
  });
}
