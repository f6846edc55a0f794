// Planted violation: the reporter must not import an npm package.
import { parse } from 'yaml';

export const planted = parse;
