/** The documented parts of CEL, each with expressions over a manifest that are evaluated in the API server as well. */
export const CEL_PARTS: readonly {
  part: string;
  /** As the reference page lists it. */
  names: string;
  /** Expressions with a boolean result over EXAMPLE. */
  examples: readonly string[];
}[] = [
  {
    part: 'operators',
    names: '`&&` `||` `!` `==` `!=` `<` `<=` `>` `>=` `+` `-` `*` `/` `%` `in` `?:` `[]`',
    examples: [
      'manifest.n == 7 && !(manifest.n != 7)',
      'manifest.n < 8 || manifest.n > 100',
      'manifest.n <= 7.0 && manifest.ratio >= 0.5',
      'manifest.n + 1 == 8 && manifest.n - 1 == 6 && manifest.n * 2 == 14',
      'manifest.n / 2 == 3 && manifest.n % 4 == 3',
      'manifest.ratio * 2.0 == 1.0',
      '"search" in manifest.names',
      '"env" in manifest.labels',
      '(manifest.n > 5 ? "big" : "small") == "big"',
      'manifest.names[1] == "find" && manifest.labels["env"] == "production"',
      'manifest.names + ["x"] == ["search", "find", "x"]',
      '-manifest.n == -7',
    ],
  },
  {
    part: 'macros',
    names: '`has()`, `all`, `exists`, `exists_one`, `filter`, `map`',
    examples: [
      'has(manifest.labels.env) && !has(manifest.labels.none)',
      'manifest.names.all(n, n.size() > 3)',
      'manifest.names.exists(n, n == "find")',
      'manifest.names.exists_one(n, n.startsWith("s"))',
      'manifest.names.filter(n, n != "find") == ["search"]',
      'manifest.names.map(n, n.size()) == [6, 4]',
      'manifest.names.map(n, n != "find", n.size()) == [6]',
    ],
  },
  {
    part: 'conversions',
    names: '`int`, `uint`, `double`, `string`, `bool`, `bytes`, `type`, `timestamp`, `duration`, `dyn`',
    examples: [
      'int("42") == 42 && uint(7) == 7u && double(1) == 1.0',
      'string(manifest.n) == "7" && bool("true")',
      'size(bytes("é")) == 2',
      'type(manifest.ratio) == double && type("x") == string',
      'timestamp("2026-01-02T00:00:00Z") > timestamp("2026-01-01T00:00:00Z")',
      'timestamp("2026-01-02T00:00:00Z") - timestamp("2026-01-01T00:00:00Z") == duration("24h")',
      'timestamp("2026-01-02T03:04:05Z").getFullYear() == 2026',
      'dyn(manifest.n) == 7',
    ],
  },
  {
    part: 'texts',
    names: '`contains`, `startsWith`, `endsWith`, `matches` (RE2), `size`',
    examples: [
      'manifest.name.contains("ho") && manifest.name.startsWith("s") && manifest.name.endsWith("p")',
      'manifest.name.matches("^s.+p$") && !manifest.name.matches("x")',
      'manifest.name.size() == 4 && size("é") == 1',
    ],
  },
  {
    part: 'further texts',
    names:
      '`charAt`, `indexOf`, `lastIndexOf`, `lowerAscii`, `upperAscii`, `replace`, `split`, `join`, `substring`, `trim`',
    examples: [
      '"shop".charAt(1) == "h"',
      '"a,b,a".indexOf("a") == 0 && "a,b,a".lastIndexOf("a") == 4',
      '"Shop".lowerAscii() == "shop" && "shop".upperAscii() == "SHOP"',
      '"a-b-a".replace("a", "x") == "x-b-x" && "a-b-a".replace("a", "x", 1) == "x-b-a"',
      '"a,b".split(",") == ["a", "b"] && ["a", "b"].join("-") == "a-b"',
      '"shop".substring(1) == "hop" && "shop".substring(1, 3) == "ho"',
      '" x ".trim() == "x"',
    ],
  },
  {
    part: 'lists and maps',
    names: '`size`, `in`, index',
    examples: ['manifest.names.size() == 2 && size(manifest.labels) == 1', '{"a": 1}["a"] == 1'],
  },
];

/** What the expressions of CEL_PARTS are about. */
export const EXAMPLE = {
  name: 'shop',
  n: 7,
  ratio: 0.5,
  names: ['search', 'find'],
  labels: { env: 'production' },
};

/** Errors in both engines. */
export const CEL_ERRORS = [
  'manifest.none == 1',
  'manifest.ratio * 2 == 1',
  'manifest.n / 0 == 1',
  'manifest.names[5] == "x"',
  'int(manifest.name) == 1',
];

/** The API server has these; here they are errors, never another result. */
export const CEL_MISSING = [
  'manifest.?none.orValue(1) == 1',
  'optional.of(1).hasValue()',
  'sets.contains([1, 2], [1])',
  'quantity("1Mi").isGreaterThan(quantity("1Ki"))',
  'url("https://example.com").getHost() == "example.com"',
  'ip("127.0.0.1").isLoopback()',
  'cidr("10.0.0.0/8").containsIP("10.1.1.1")',
  'semver("1.2.3").major() == 1',
  '"abc 123".find("[0-9]+") == "123"',
  '[1, 2].isSorted()',
  '[1, 2].sum() == 3',
  '[1, 2].min() == 1',
  'manifest.labels.all(k, v, v != "")',
];
