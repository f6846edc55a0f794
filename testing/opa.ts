import { clusterBinary } from './cluster-binary.ts';

/** The path of the real policy engine. Throws, saying how to build it, when it is not there. */
export function opaBinary(): string {
  return clusterBinary('opa');
}
