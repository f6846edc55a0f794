import { writeFileSync } from 'node:fs';

/** The variables of a Node.js process whose termination message goes to `file`, which a kubelet would mount at /dev/termination-log. */
export function terminationLogAt(file: string): Record<string, string> {
  writeFileSync(file, '');
  const script = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { writeFileSync } = fs;
    fs.writeFileSync = (path, ...rest) =>
      writeFileSync(path === '/dev/termination-log' ? ${JSON.stringify(file)} : path, ...rest);
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}
