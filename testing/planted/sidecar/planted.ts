// Planted violation: a part must not import the Kubernetes client.
import * as client from '@kubernetes/client-node';

export const planted = client.KubeConfig;
