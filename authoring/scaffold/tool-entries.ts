/** The names of one declared tool in a project. The project has them in `tools.json`. */
export interface ToolEntry {
  /** Name in the manifest: any text. */
  name: string;
  /** Name that the model sees. */
  callName: string;
  /** Name of the file with its code, without extension. */
  module: string;
}

/** Function names that all vendors accept. */
const CALL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_MODULE = 40;
/** Names that file systems, test runners or other files of the project use. */
const RESERVED = /^(?:|\d.*|con|prn|aux|nul|com\d|lpt\d|index|worker|test.*)$/;

/** A call name and a file for each tool. A name that vendors accept stays as it is, so that reports and calls have the same name. */
export function toolEntries(tools: readonly { name: string }[]): ToolEntry[] {
  const modules = new Set<string>();
  const callNames = new Set(tools.map(({ name }) => name).filter((name) => CALL_NAME.test(name)));
  return tools.map(({ name }) => {
    const module = unique(moduleOf(name), modules);
    return { name, callName: CALL_NAME.test(name) ? name : unique(module, callNames), module };
  });
}

function moduleOf(name: string): string {
  const words = name
    .slice(0, 500)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
  const module = words
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_MODULE)
    .replaceAll(/^_|_$/g, '');
  return RESERVED.test(module) ? `tool_${module}`.replace(/_$/, '') : module;
}

function unique(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
  taken.add(name);
  return name;
}
