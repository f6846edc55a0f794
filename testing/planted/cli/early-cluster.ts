export { runCheck } from '../../../cli/cluster/main.ts';
