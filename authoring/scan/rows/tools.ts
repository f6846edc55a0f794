import type { Call, Code } from '../code.ts';
import { paragraphOf } from '../declarations.ts';
import { HINTS, type ToolFound } from '../discovery.ts';
import { asCall, moduleOf, type CallRow, type ClassRow, type DecoratorRow, type ObjectRow } from '../row.ts';
import { textOf, type Source } from '../source.ts';
import { literalOf, targetOf } from '../syntax.ts';
import { optionOf, type Value } from '../values.ts';

type Options = Pick<Call, 'source' | 'args'>;
type Keys = readonly (string | number)[];

const DESCRIPTION: Keys = ['description', 'description_override'];

function toolFound(name: string, members: Partial<ToolFound>): ToolFound[] {
  if (name.trim() === '') return [];
  const none = {
    type: 'function',
    description: null,
    module: null,
    function: null,
    annotations: {},
  } as const;
  return [{ kind: 'tool', ...none, ...members, name }];
}

/** Literal hints of an `annotations` option: an object, or a call such as `ToolAnnotations(readOnlyHint=True)`. */
function annotationsOf({ source, args }: Options): ToolFound['annotations'] {
  const option = optionOf(args, ['annotations']);
  if (option === null) return {};
  const options = option.kind === 'call' ? option.args : asCall(source, option).args;
  const annotations: ToolFound['annotations'] = {};
  for (const hint of HINTS) {
    const value = optionOf(options, [hint]);
    if (value?.kind === 'flag') annotations[hint] = value.flag;
  }
  return annotations;
}

function descriptionOf(options: Options, code: Code, keys: Keys = DESCRIPTION): string | null {
  return paragraphOf(code.textOption(options, keys) ?? '');
}

/** A Python function that a decorator makes a tool. */
const decorated = (name: RegExp, needs?: RegExp): DecoratorRow => ({
  language: 'python',
  name,
  ...(needs !== undefined && { needs }),
  read: ({ source, decorator, call }, code) => {
    const own = decorator.function;
    const named = call === null ? null : code.textOption(call, ['name', 'name_override', 0]);
    return toolFound(named ?? own.name, {
      description: (call === null ? null : descriptionOf(call, code, [...DESCRIPTION, 1])) ?? own.description,
      module: moduleOf(source),
      function: own.name,
      annotations: call === null ? {} : annotationsOf(call),
    });
  },
});

export const TOOL_DECORATORS: readonly DecoratorRow[] = [
  decorated(/^langchain(?:_core)?[\w.]*:tool$/),
  decorated(/^crewai(?:_tools)?[\w.]*:tool$/),
  decorated(/^smolagents:tool$/),
  decorated(/^agents[\w.]*:function_tool$/),
  decorated(/^(?:pydantic_ai[\w.]*:Agent\(\)|:[\w.]+)\.tool(?:_plain)?$/, /^pydantic_ai/),
  decorated(
    /^(?:(?:fastmcp|mcp)[\w.]*:(?:FastMCP|MCPServer)\(\)|:[\w.]+)\.tool$/,
    /^(?:fastmcp|mcp\.server)/,
  ),
  decorated(/^semantic_kernel[\w.]*:kernel_function$/),
  decorated(/^agno[\w.]*:tool$/),
  decorated(/^strands[\w.]*:tool$/),
  decorated(/^anthropic[\w.]*:beta_(?:async_)?tool$/),
  decorated(/^claude_agent_sdk:tool$/),
];

interface ToolForm {
  name?: Keys;
  description?: Keys;
  /** The option with the function of the tool; its name is the name of the tool if it has no other. */
  function?: Keys;
}

/** A call that creates a tool. In JavaScript the variable of the tool stands for its function. */
const created = (language: CallRow['language'], name: RegExp, form: ToolForm = {}): CallRow => ({
  language,
  name,
  read: (call, code) => {
    const option = form.function === undefined ? null : optionOf(call.args, form.function);
    const own = option?.kind === 'name' ? code.functionNamed(option.path) : null;
    const target = call.source.language === 'javascript' ? targetNamed(call) : null;
    const named = code.textOption(call, form.name ?? ['name']);
    const source = own?.source ?? call.source;
    return toolFound(named ?? own?.declaration.name ?? target?.key ?? '', {
      description: descriptionOf(call, code, form.description) ?? own?.declaration.description ?? null,
      module: moduleOf(source),
      function: own?.declaration.name ?? target?.variable ?? null,
      annotations: annotationsOf(call),
    });
  },
});

/** The name that a call is assigned to, as a variable or as the key of an object. */
function targetNamed({ source, value }: Call): { key: string; variable: string | null } | null {
  const found = targetOf(value.node);
  if (found === null) return null;
  const name = found.target.getChild('PropertyName') ?? found.target;
  const key = literalOf(name, source.text) ?? textOf(source, name);
  return { key, variable: found.isKey ? null : key };
}

export const TOOL_CALLS: readonly CallRow[] = [
  created('python', /^langchain(?:_core)?[\w.]*:(?:Structured)?Tool(?:\.from_function)?$/, {
    name: ['name', 0],
    function: ['func', 'coroutine', 0],
  }),
  created('javascript', /^(?:@langchain\/core\/tools|langchain):tool$/),
  created('javascript', /^(?:@langchain|langchain)\/[\w/-]+:Dynamic(?:Structured)?Tool$/),
  created('python', /^llama_index[\w.]*:(?:FunctionTool|QueryEngineTool)\.from_defaults$/, {
    function: ['fn', 'async_fn', 0],
  }),
  created('javascript', /^(?:@llamaindex\/core\/tools|llamaindex):(?:tool|FunctionTool\.from)$/),
  created('python', /^autogen_core[\w.]*:FunctionTool$/, { function: ['func', 0] }),
  created('python', /^agents[\w.]*:function_tool$/, {
    name: ['name_override'],
    function: ['func', 0],
  }),
  created('javascript', /^@openai\/agents[\w-]*:tool$/),
  created('javascript', /^openai\/helpers\/[\w-]+:\w*[fF]unction\w*$/),
  created('javascript', /^ai:(?:tool|dynamicTool)$/),
  created('javascript', /^@mastra\/core(?:\/tools)?:createTool$/, { name: ['id'] }),
  created('javascript', /^@anthropic-ai\/sdk\/helpers[\w/-]*:beta\w*Tool$/),
  created('javascript', /^@anthropic-ai\/claude-agent-sdk:tool$/, {
    name: [0],
    description: [1],
  }),
  created('python', /^mcp\.types:Tool$/),
  {
    ...created(
      'javascript',
      /^(?:@modelcontextprotocol\/[\w./-]+:McpServer\(\)|:[\w.]+)\.(?:tool|registerTool)$/,
      {
        name: [0],
        description: [1, 'description'],
      },
    ),
    needs: /^@modelcontextprotocol\/(?:sdk\/server|server)/,
  },
  { ...created('javascript', /^(?:fastmcp:FastMCP\(\)|:[\w.]+)\.addTool$/), needs: /^fastmcp$/ },
];

/** Tools that a vendor or a framework brings: the name of each for the model, and the call that adds it. */
const BUILTIN: readonly (readonly [tool: string, name: RegExp])[] = [
  ['web_search', /^(?:agents|@openai\/agents[\w-]*):(?:WebSearchTool|webSearchTool)$/],
  ['file_search', /^(?:agents|@openai\/agents[\w-]*):(?:FileSearchTool|fileSearchTool)$/],
  ['code_interpreter', /^(?:agents|@openai\/agents[\w-]*):(?:CodeInterpreterTool|codeInterpreterTool)$/],
  ['computer_use', /^(?:agents|@openai\/agents[\w-]*):(?:ComputerTool|computerTool)$/],
  ['tavily_search', /^@?langchain[\w./-]*:TavilySearch(?:Results)?$/],
  ['duckduckgo_search', /^langchain[\w.]*:DuckDuckGoSearch(?:Run|Results)$/],
  ['Python_REPL', /^langchain[\w.]*:PythonREPLTool$/],
  ['search_the_internet_with_serper', /^crewai_tools[\w.]*:SerperDevTool$/],
  ['read_website_content', /^crewai_tools[\w.]*:ScrapeWebsiteTool$/],
  ['read_a_files_content', /^crewai_tools[\w.]*:FileReadTool$/],
  ['web_search', /^smolagents:(?:DuckDuckGo|Web)SearchTool$/],
  ['python_interpreter', /^smolagents:PythonInterpreterTool$/],
];

export const BUILTIN_TOOLS: readonly CallRow[] = BUILTIN.map(([tool, name]): CallRow => ({
  language: 'any',
  name,
  read: () => toolFound(tool, { type: 'builtin' }),
}));

/** A call with a list of plain Python functions, which are tools by that. */
const listed = (name: RegExp, keys: Keys): CallRow => ({
  language: 'python',
  name,
  read: ({ source, args }, code) => {
    const list = optionOf(args, keys);
    return list === null ? [] : functionsIn({ source, value: list }, code);
  },
});

export const TOOL_LISTS: readonly CallRow[] = [
  listed(/^autogen_agentchat[\w.]*:AssistantAgent$/, ['tools']),
  listed(/^pydantic_ai[\w.]*:(?:Agent|FunctionToolset)$/, ['tools']),
  listed(/^google\.adk[\w.]*:(?:Llm)?Agent$/, ['tools']),
  listed(/^langgraph\.prebuilt[\w.]*:(?:create_react_agent|ToolNode)$/, ['tools', 1, 0]),
  listed(/^langchain[\w.]*:create_agent$/, ['tools', 1]),
  { ...listed(/[:.]bind_tools$/, ['tools', 0]), needs: /^langchain/ },
  listed(/^llama_index[\w.]*:(?:Function|ReAct)Agent(?:\.from_tools)?$/, ['tools', 0]),
  listed(/^agno[\w.]*:Agent$/, ['tools']),
  listed(/^strands[\w.]*:Agent$/, ['tools']),
];

/** Items of one list, and lists in lists. */
const [MAX_LISTED, MAX_LISTS] = [200, 4];

/** Functions in a list, also if the list or a part of it has a name. Other items have patterns of their own. */
function functionsIn(
  { source, value }: { source: Source; value: Value },
  code: Code,
  outer: readonly Value[] = [],
): ToolFound[] {
  if (outer.length > MAX_LISTS || outer.includes(value)) return [];
  const inner = [...outer, value];
  if (value.kind === 'list')
    return value.items
      .slice(0, MAX_LISTED)
      .flatMap((item) => functionsIn({ source, value: item }, code, inner));
  if (value.kind !== 'name') return [];
  const name = value.path.split('.').at(-1) ?? '';
  const own = code.functionNamed(name);
  if (own !== null) {
    const { description } = own.declaration;
    return toolFound(name, { description, module: moduleOf(own.source), function: name });
  }
  const assigned = code.assigned(source, value.path);
  return assigned === null ? [] : functionsIn(assigned, code, inner);
}

/** A subclass of a framework's tool class, with the name and the description in its fields. */
const subclass = (language: ClassRow['language'], name: RegExp): ClassRow => ({
  language,
  name,
  read: ({ source, declaration }, code) => {
    const named = code.fieldText(source, declaration, 'name');
    return toolFound(named ?? '', {
      description: paragraphOf(
        code.fieldText(source, declaration, 'description') ?? declaration.description ?? '',
      ),
      module: moduleOf(source),
      function: declaration.name,
    });
  },
});

export const TOOL_CLASSES: readonly ClassRow[] = [
  subclass('python', /^langchain(?:_core)?[\w.]*:BaseTool$/),
  subclass('javascript', /^(?:@langchain|langchain)\/[\w/-]+:(?:Structured)?Tool$/),
  subclass('python', /^crewai(?:_tools)?[\w.]*:BaseTool$/),
  subclass('python', /^smolagents:Tool$/),
];

/** Tools as JSON for the API of a vendor. */
export const TOOL_OBJECTS: readonly ObjectRow[] = [
  {
    language: 'any',
    key: 'type',
    value: /^function$/,
    read: ({ source, value }, code) => {
      const nested = value.members.get('function');
      const isNested = nested?.kind === 'object';
      const isTool = isNested || value.members.has('parameters');
      return isTool ? toolOf(asCall(source, isNested ? nested : value), code) : [];
    },
  },
  {
    language: 'any',
    key: 'input_schema',
    read: ({ source, value }, code) => toolOf(asCall(source, value), code),
  },
];

function toolOf(options: Options, code: Code): ToolFound[] {
  const name = code.textOption(options, ['name']) ?? '';
  return toolFound(name, { description: descriptionOf(options, code) });
}
