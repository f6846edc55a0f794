// Planted violation: two modules must not import each other.
import { back } from './cycle-back.ts';

export const there = (): unknown => back;
