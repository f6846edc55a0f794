import { describe, expect, test } from '@jest/globals';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import { parseWrittenCode } from './written-code.ts';
import { javascriptBody } from './javascript-body.ts';
import { pythonBody } from './python-body.ts';

describe('a Python body', () => {
  test.each([
    ['plain', 'return text', 'return text'],
    ['indented', '\n    x = 1\n    return x\n', 'x = 1\nreturn x'],
    ['with tabs and CRLF', 'if text:\r\n\treturn 1\r\nreturn 2', 'if text:\n    return 1\nreturn 2'],
    ['in a code fence', '```python\nreturn 1\n```', 'return 1'],
    ['with imports', 'import json, re\nfrom urllib.request import urlopen\nreturn 1', undefined],
    ['with the environment', 'import os\nreturn os.environ["KEY"] + os.getenv("A", "")', undefined],
    ['with brackets in strings', 'return "(" + \'[\' + """{\n"""  # )', undefined],
    ['with a compiled pattern', 'import re\nreturn re.compile("a").sub("", text)', undefined],
    ['with a method named open', 'return text.open()', undefined],
    ['with os and re', 'import os, re\nreturn os.environ.get("A", "")', undefined],
    ['with os in the middle', 'import json, os, httpx\nreturn os.environ["A"]', undefined],
    ['with names in strings', 'return "I open and eval the door of __main__"', undefined],
    ['with names in comments', 'return 1  # no import sys, no exec("")', undefined],
    ['with an f-string', 'd = {"a": 1}\nreturn f"{{}} {d[\'a\']!r:>{10}} {text:_} open"', undefined],
    ['with umlauts in strings', 'return "Grüße"  # ö', undefined],
    ['with members', 'from os import environ\nfrom re import (sub, compile as c,)\nreturn sub', undefined],
    ['with a block', 'for each in (1,\n2):\n  if each:\n      return """\nx"""\nelse:\n  pass', undefined],
  ])('%s is used', (_name, text, code = text) => {
    expect(pythonBody(text)).toEqual({ ok: true, code });
  });

  test.each([
    ['', 'the code is empty'],
    ['\n  \n', 'the code is empty'],
    ['pass', 'the code returns nothing'],
    [`return "${'x'.repeat(8000)}"`, 'the code has more than 8000 characters'],
    ['return 1\n \fimport math', 'the code contains control characters'],
    ['return 1\u0000', 'the code contains control characters'],
    ['return 1 # \u202eevil', 'the code contains characters that change its direction'],
    ['  return 1\nreturn 2', 'the first line of the code is indented'],
    ['return "abc', 'a string in the code does not end'],
    ["return 'a\nb'", 'a string in the code does not end'],
    ['return (1', 'the brackets in the code do not match'],
    ['return 1)', 'the brackets in the code do not match'],
    ['return [1)', 'the brackets in the code do not match'],
    ['return 1\\', 'the code contains a line continuation'],
    ['import subprocess\nreturn 1', 'the code imports subprocess'],
    ['import json as j, sys as s\nreturn 1', 'the code imports sys'],
    ['from . import server\nreturn 1', 'the code imports its own project'],
    ['if text: import socket\nreturn 1', 'the code imports socket'],
    ['import \\\n  sys\nreturn 1', 'the code contains a line continuation'],
    ['import os\nreturn os.system(text)', 'the code contains functions of the module os'],
    ['import os as o\nreturn o.system(text)', 'the code contains functions of the module os'],
    ['from os import system\nreturn system(text)', 'the code contains functions of the module os'],
    ['import os.path\nreturn 1', 'the code contains functions of the module os'],
    ['return eval(text)', 'the code contains eval, exec, getattr or similar functions'],
    ['e = eval\nreturn e(text)', 'the code contains eval, exec, getattr or similar functions'],
    ['return ().__class__', 'the code contains names with two underscores'],
    ['return open("/etc/passwd").read()', 'the code contains open, input or exit'],
    ['raise SystemExit\nreturn', 'the code contains exceptions that end the process'],
    ['return await text', 'the code contains async, yield or global'],
    ['def run(text):\n    return 1', 'the code contains a whole function'],
    [
      'import random\nreturn random._os.system(text)',
      'the code contains attributes that begin with an underscore',
    ],
    ['import random\nreturn random. _os', 'the code contains attributes that begin with an underscore'],
    ["import json\nreturn json.codecs.builtins.exec('1')", 'the code contains the attribute codecs'],
    ['import re\nreturn re.enum.sys.modules["os"]', 'the code contains the attribute sys'],
    ['import re\nreturn re.enum.bltns.open(text)', 'the code contains the attribute bltns'],
    ['from uuid import os\nreturn os.environ', 'the code imports os from uuid'],
    ['from re import enum, sys as s\nreturn s', 'the code imports sys from re'],
    ['from random import _os as o\nreturn o', 'the code imports _os from random'],
    ['from uuid import *\nreturn 1', 'the code imports no name from uuid'],
    ['import uuid\nreturn uuid.os.system(text)', 'the code contains functions of the module os'],
    ['return f"{eval(text)}"', 'the code contains eval, exec, getattr or similar functions'],
    ['return f"{"#"}" + eval(text)', 'a field of an f-string in the code is not simple'],
    ['return f"{\'}\'"#"}" + eval(text)', 'a field of an f-string in the code is not simple'],
    ['return f"{text:\'>10}" + eval(text)', 'a field of an f-string in the code is not simple'],
    ['return 𝐞𝐯𝐚𝐥(text)', 'the code contains characters outside ASCII in names'],
    ['o = open\nreturn o(text)', 'the code contains open, input or exit'],
    ['if text:\nreturn 1', 'the indentation of the code does not fit'],
    ['x = 1\n  return x', 'the indentation of the code does not fit'],
    ['if text:\n    x = 1\n  return x', 'the indentation of the code does not fit'],
    ['return 1\nif text:', 'the indentation of the code does not fit'],
  ])('%j is not used', (text, reason) => {
    expect(pythonBody(text)).toEqual({ ok: false, reason });
  });

  test('never begins with an indentation and has only visible characters and line feeds', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter() }),
        fc.string({ unit: anyCharacter() }),
        (before, after) => {
          const body = pythonBody(`${before}\nreturn 1\n${after}`);
          if (body.ok) expect(body.code).toMatch(/^\S(?:\n|[^\p{Cc}\p{Zl}\p{Zp}])*$/u);
        },
      ),
      { numRuns: runs(1000) },
    );
  });
});

describe('a JavaScript body', () => {
  test.each([
    ['return text', undefined],
    [
      '  const a = await fetch(process.env.URL);\n  return a.status;',
      'const a = await fetch(process.env.URL);\nreturn a.status;',
    ],
    ['return `${text.length} // not a comment`; // a comment', undefined],
  ])('%j is used', (text, code = text) => {
    expect(javascriptBody(text)).toEqual({ ok: true, code });
  });

  const syntax = 'the code has a syntax error';
  test.each([
    ['return 1; } evil(); {', syntax],
    ['return 1; /*', syntax],
    ['return `', syntax],
    ['return text as string;', syntax],
    ['with (text) return 1;', syntax],
    ['export const a = 1; return a;', syntax],
    ['const a = 1;', 'the code returns nothing'],
    [
      'return (await import("node:fs")).rmSync("/");',
      'the code contains import, require, eval or similar functions',
    ],
    ['return eval(text);', 'the code contains import, require, eval or similar functions'],
    ['return Function("return 1")();', 'the code contains import, require, eval or similar functions'],
    ['return globalThis;', 'the code contains globalThis, constructor or prototype'],
    ['return (() => 1).constructor("return 1")();', 'the code contains globalThis, constructor or prototype'],
    ['return process.exit(1);', 'the code contains functions of process'],
    ['return process;', 'the code contains functions of process'],
    ['return 1; <!-- comment', 'the code contains an HTML comment'],
    ['async function run(text) { return 1; }\nreturn 2;', 'the code contains a whole function'],
  ])('%j is not used', (text, reason) => {
    expect(javascriptBody(text)).toEqual({ ok: false, reason });
  });

  test('is never run', () => {
    expect(javascriptBody('while (true) {}\nreturn 1;')).toMatchObject({ ok: true });
  });
});

describe('the response of a model', () => {
  test('has a prompt and bodies; the first body of a tool counts', () => {
    const tools = [
      { name: 'a', body: '1' },
      { name: 'a', body: '2' },
      { name: 'b' },
      7,
      { name: '__proto__', body: '3' },
    ];
    expect(parseWrittenCode({ systemPrompt: 'p', tools, more: 1 })).toEqual({
      ok: true,
      value: {
        systemPrompt: 'p',
        bodies: new Map([
          ['a', '1'],
          ['__proto__', '3'],
        ]),
        invalid: 2,
      },
    });
  });

  const missing = 'the response of the model does not have systemPrompt and tools';
  test.each([
    [null, 'the response of the model is not a JSON object'],
    [[], 'the response of the model is not a JSON object'],
    [{}, missing],
    [{ systemPrompt: 'p' }, missing],
    [{ systemPrompt: 1, tools: [] }, missing],
    [{ systemPrompt: 'p', tools: {} }, missing],
  ])('%j is not valid', (value, reason) => {
    expect(parseWrittenCode(value)).toEqual({ ok: false, reason });
  });
});
