// Planted violation for scripts/check-layers.mjs: the manifest below the gap rules that read it.
import { gradeOf } from '../../../../core/gap/grade.ts';

export const grade = gradeOf(0);
