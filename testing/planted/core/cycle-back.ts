// The other half of the planted cycle.
import { there } from './cycle-there.ts';

export const back = (): unknown => there;
