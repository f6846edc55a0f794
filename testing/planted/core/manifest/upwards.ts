// Planted violation for scripts/check-layers.mjs: the manifest below the gap rules that read it.
import { isVerified } from '../../../../core/gap/gap.ts';

export const verified = isVerified({});
