/** As the chart's kubeVersion has it: native sidecars, and their ports by name in EndpointSlices. */
export const LEAST_MINOR = 33;

/** `v1.33.0-eks-1`, `v1.36.4+k3s1`: null where it is none of these. */
export function minorOf(version: string): number | null {
  const parts = /^v?1\.(\d+)(?:[.+-]|$)/.exec(version);
  return parts ? Number(parts[1]) : null;
}
