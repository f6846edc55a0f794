/** Same as the chart's kubeVersion: required for native sidecars and for their port names in EndpointSlices. */
export const LEAST_MINOR = 33;

/** `v1.33.0-eks-1`, `v1.36.4+k3s1`; null for other formats. */
export function minorOf(version: string): number | null {
  const parts = /^v?1\.(\d+)(?:[.+-]|$)/.exec(version);
  return parts ? Number(parts[1]) : null;
}
