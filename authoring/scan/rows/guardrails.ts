import type { GuardrailType } from '../../../core/manifest/manifest.ts';
import type { GuardrailFound } from '../discovery.ts';
import { asCall, moduleOf, type CallRow, type DecoratorRow, type ObjectRow } from '../row.ts';
import { optionOf, type Value } from '../values.ts';

type Where = GuardrailFound['where'];

/** Where a guardrail of this type usually runs. */
const USUAL: Readonly<Record<GuardrailType, Where>> = {
  'topic-filter': 'input',
  'pii-detector': 'input',
  'prompt-injection': 'input',
  'hallucination-detector': 'output',
  'toxicity-filter': 'output',
  custom: 'input',
};

export const GUARDRAIL_TYPES = Object.keys(USUAL) as GuardrailType[];

const guardrailFound = (type: GuardrailType, members: Partial<GuardrailFound> = {}): GuardrailFound[] => {
  const none = { action: null, module: null, function: null };
  return [{ kind: 'guardrail', where: USUAL[type], ...none, ...members, type }];
};

/** A call that runs or configures a guardrail of a known type. */
const known = (
  language: CallRow['language'],
  name: RegExp,
  type: GuardrailType,
  found: { where?: Where; action?: string } = {},
): CallRow => ({ language, name, read: () => guardrailFound(type, found) });

const LIBRARIES: readonly CallRow[] = [
  known('python', /^guardrails\.hub:(?:DetectPII|GuardrailsPII)$/, 'pii-detector'),
  known('python', /^guardrails\.hub:(?:ToxicLanguage|ProfanityFree|NSFWText)$/, 'toxicity-filter'),
  known('python', /^guardrails\.hub:(?:RestrictToTopic|SensitiveTopic)$/, 'topic-filter'),
  known('python', /^guardrails\.hub:(?:DetectJailbreak|DetectPromptInjection)$/, 'prompt-injection'),
  known('python', /^guardrails\.hub:(?:Provenance\w+|GroundedAI\w+)$/, 'hallucination-detector'),
  known('python', /^llm_guard\.input_scanners[\w.]*:Anonymize$/, 'pii-detector', { action: 'scrub' }),
  known('python', /^llm_guard\.input_scanners[\w.]*:PromptInjection$/, 'prompt-injection'),
  known('python', /^llm_guard\.input_scanners[\w.]*:Toxicity$/, 'toxicity-filter', { where: 'input' }),
  known('python', /^llm_guard\.input_scanners[\w.]*:BanTopics$/, 'topic-filter'),
  known('python', /^llm_guard\.output_scanners[\w.]*:Sensitive$/, 'pii-detector', { where: 'output' }),
  known('python', /^llm_guard\.output_scanners[\w.]*:Toxicity$/, 'toxicity-filter'),
  known('python', /^llm_guard\.output_scanners[\w.]*:BanTopics$/, 'topic-filter', { where: 'output' }),
  known('python', /^llm_guard\.output_scanners[\w.]*:FactualConsistency$/, 'hallucination-detector'),
  known('python', /^presidio_analyzer[\w.]*:AnalyzerEngine$/, 'pii-detector'),
  known('python', /^presidio_anonymizer[\w.]*:AnonymizerEngine$/, 'pii-detector', { action: 'scrub' }),
  known('python', /^detoxify:Detoxify$/, 'toxicity-filter'),
  known('python', /^langchain\.agents\.middleware[\w.]*:PIIMiddleware$/, 'pii-detector'),
  known('javascript', /^langchain:piiMiddleware$/, 'pii-detector'),
  known('javascript', /^@mastra\/core\/processors:PIIDetector$/, 'pii-detector'),
  known('javascript', /^@mastra\/core\/processors:PromptInjectionDetector$/, 'prompt-injection'),
  known('javascript', /^@mastra\/core\/processors:ModerationProcessor$/, 'toxicity-filter'),
  {
    language: 'any',
    name: /[:.]moderations\.create$/,
    needs: /^openai(?:\/|$)/,
    read: ({ args }) => {
      const input = optionOf(args, ['input']);
      return guardrailFound('toxicity-filter', { where: 'input', ...whereOf(input === null ? [] : [input]) });
    },
  },
];

/** `behavior.guardrail("pii-detector", …)` of the reporter. */
const REPORTER: CallRow = {
  language: 'javascript',
  name: /[:.]guardrail$/,
  needs: /^agent-compliance\/reporter$/,
  read: (call, code) => {
    const name = code.textOption(call, [0]);
    const type = GUARDRAIL_TYPES.find((each) => each === name);
    return type === undefined ? [] : guardrailFound(type, whereOf(call.args.positional));
  },
};

/** Words in the name of a function of the agent that checks or changes text. */
const OWN: readonly (readonly [words: RegExp, type: GuardrailType])[] = [
  [/(?:^|_)(?:pii|personal_(?:data|info\w*))(?:_|$)/, 'pii-detector'],
  [/prompt_injections?|jailbreaks?/, 'prompt-injection'],
  [/(?:^|_)(?:toxic\w*|profanity|moderat(?:e|ion))(?:_|$)/, 'toxicity-filter'],
  [/hallucinat\w*|groundedness/, 'hallucination-detector'],
  [/(?:blocked|forbidden|banned|allowed|off)_topics?|topic_(?:filter|guard|allowed|blocked)/, 'topic-filter'],
];
const CHANGES = /(?:^|_)(?:scrub|redact|mask|anonymi[sz]e|remove|strip)(?:_|$)/;
const CHECKS =
  /(?:^|_)(?:detect|detects|check|checks|is|has|contains|looks|filter|guard|block|blocked|score|run|find|classify|verify|assert|reject|matches|moderate)(?:_|$)/;

const snake = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();

/** The type of guardrail that the name of a function stands for; null: none. */
function typeOfName(name: string): GuardrailType | null {
  const words = snake(name);
  return OWN.find(([pattern]) => pattern.test(words))?.[1] ?? null;
}

const OUTPUT_WORDS = /(?:^|_)(?:output|answer|response|reply|completion|generated|final)(?:_|$)/;
const INPUT_WORDS = /(?:^|_)(?:input|message|question|query|prompt|request|body)(?:_|$)/;

/** The side of the model, by the name of the text that is checked. */
function whereOf(checked: readonly Value[]): { where?: Where } {
  const words = checked.map((value) => (value.kind === 'name' ? snake(value.path) : ''));
  if (words.some((each) => OUTPUT_WORDS.test(each))) return { where: 'output' };
  return words.some((each) => INPUT_WORDS.test(each)) ? { where: 'input' } : {};
}

/** A call of a function of the agent whose name shows what it does, such as `redact_pii(message)`. */
const OWN_CALLS: CallRow = {
  language: 'any',
  name: /^:(?:[\w$]+\.)*[\w$]+$/,
  read: (call) => {
    const name = call.value.path.split('.').at(-1) ?? '';
    const type = typeOfName(name);
    const words = snake(name);
    const isChange = CHANGES.test(words);
    if (type === null || !(isChange || CHECKS.test(words))) return [];
    return guardrailFound(type, { ...whereOf(call.args.positional), action: isChange ? 'scrub' : null });
  },
};

/** A guardrail of a framework that runs a function of the agent: its type is in one of its names, or it is custom. */
function custom(where: Where, names: readonly [string, ...string[]], module: string): GuardrailFound[] {
  const type = names.map(typeOfName).find((each) => each !== null) ?? 'custom';
  return guardrailFound(type, { where, module, function: names[0] });
}

const decorated = (name: RegExp, where: Where): DecoratorRow => ({
  language: 'python',
  name,
  read: ({ source, decorator }) => custom(where, [decorator.function.name], moduleOf(source)),
});

export const GUARDRAIL_DECORATORS: readonly DecoratorRow[] = [
  decorated(/^agents[\w.]*:input_guardrail$/, 'input'),
  decorated(/^agents[\w.]*:output_guardrail$/, 'output'),
];

/** `inputGuardrails: [{ name: "…", execute }]`, in place or as a list of names. */
const listed = (key: string, where: Where): ObjectRow => ({
  language: 'javascript',
  needs: /^@openai\/agents/,
  key,
  read: ({ source, value }, code) => {
    const list = value.members.get(key);
    if (list?.kind !== 'list') return [];
    return list.items.flatMap((item) => {
      const variable = item.kind === 'name' ? item.path : null;
      const declared = variable === null ? null : code.assigned(source, variable);
      const options = asCall(declared?.source ?? source, declared?.value ?? item);
      const name = code.textOption(options, ['name']);
      const [first, ...others] = [variable, name].filter((each) => each !== null);
      return first === undefined ? [] : custom(where, [first, ...others], moduleOf(options.source));
    });
  },
});

export const GUARDRAIL_OBJECTS: readonly ObjectRow[] = [
  listed('inputGuardrails', 'input'),
  listed('outputGuardrails', 'output'),
];

export const GUARDRAIL_CALLS: readonly CallRow[] = [...LIBRARIES, REPORTER, OWN_CALLS];
