export { lookAtCluster } from '../../../cli/cluster/main.ts';
