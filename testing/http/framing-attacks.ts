/** One request that the proxy may forward, as every parser behind the proxy must read it. */
export interface Reading {
  method: string;
  /** Path and query. */
  path: string;
  host: string;
  body: string;
}

/** Ambiguous bytes, and the single interpretation of this proxy. */
export interface Attack {
  title: string;
  bytes: string;
  /** Response statuses for the client, in order; the connection closes after the last one. */
  statuses: readonly number[];
  /** Requests that reach the agent completely; no other request does. */
  readings: readonly Reading[];
  /** A request whose head was forwarded before its body turned out to be invalid: the agent sees it truncated or not at all. */
  cut?: true;
}

/** Host header that replaces a missing one: the agent's address. */
export const AGENT = '<agent>';

/** The request that an attacker tries to smuggle. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: hidden.example\r\nConnection: close\r\n\r\n';
const HIDDEN_READING: Reading = { method: 'GET', path: '/hidden', host: 'hidden.example', body: '' };

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;
const HOST = 'Host: shop.example';
const get = (...lines: string[]): string => head('GET /first HTTP/1.1', HOST, ...lines);
const post = (lines: string[], body: string): string => head('POST /first HTTP/1.1', HOST, ...lines) + body;
const sized = (...lines: string[]): string => post(lines, 'hello');
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n';
const chunked = (...lines: string[]): string => post(lines, CHUNKS);
/** A valid head followed by chunks of the attacker. */
const chunks = (body: string): string => post(['Transfer-Encoding: chunked'], body);

type Row = [title: string, bytes: string];

/** The proxy responds itself and closes the connection; the request does not reach the agent. */
const refused = (status: number, rows: Row[]): Attack[] =>
  rows.map(([title, bytes]) => ({ title, bytes: bytes + HIDDEN, statuses: [status], readings: [] }));

/** As `refused`, but the head may already have been forwarded. */
const cut = (rows: Row[], status = 400): Attack[] =>
  refused(status, rows).map((attack) => ({ ...attack, cut: true }));

/** Two valid requests; the second one is recorded as a separate request. */
const passed = (first: Partial<Reading>, rows: Row[]): Attack[] =>
  rows.map(([title, bytes]) => ({
    title,
    bytes: bytes + HIDDEN,
    statuses: [200, 200],
    readings: [{ method: 'GET', path: '/first', host: 'shop.example', body: '', ...first }, HIDDEN_READING],
  }));

const TE = 'Transfer-Encoding: chunked';
const CL = 'Content-Length: 5';

/** A length together with a coding, and codings that only some parsers accept as chunked. */
export const CODINGS: Attack[] = [
  ...refused(400, [
    ['a length before chunks', chunked(CL, TE)],
    ['a length after chunks', chunked(TE, CL)],
    ['a length of zero with chunks', chunked('Content-Length: 0', TE)],
    ['a space before the colon', chunked('Transfer-Encoding : chunked')],
    ['a tab before the colon', chunked('Transfer-Encoding\t: chunked')],
    ['a length, and chunks with a space before the colon', sized(CL, 'Transfer-Encoding : chunked')],
    ['a length, and chunks behind a vertical tab', sized(CL, 'Transfer-Encoding:\x0bchunked')],
    ['a folded coding', chunked('Transfer-Encoding:\r\n chunked')],
    [
      'a coding in the line of another header behind a bare CR',
      sized(CL, 'X: 1\rTransfer-Encoding: chunked'),
    ],
    [
      'a coding in the line of another header behind a bare LF',
      sized(CL, 'X: 1\nTransfer-Encoding: chunked'),
    ],
    ['a length and an unknown coding', sized(CL, 'Transfer-Encoding: xchunked')],
    ['a length and a coding without a value', sized(CL, 'Transfer-Encoding:')],
    ['a length and identity', sized(CL, 'Transfer-Encoding: identity')],
    ['chunks in HTTP/1.0', head('POST /first HTTP/1.0', HOST, TE) + CHUNKS],
    ['chunks and a length in HTTP/1.0', head('POST /first HTTP/1.0', HOST, CL, TE) + CHUNKS],
    ['an empty coding after chunked', chunked('Transfer-Encoding: chunked,')],
    ['chunked twice', chunked(TE, TE)],
    ['a coding after chunked', chunked('Transfer-Encoding: chunked, identity')],
    ['chunked before a NUL', chunked('Transfer-Encoding: chunked\0')],
    ['a coding without a value', chunked('Transfer-Encoding:')],
    ['chunked, then identity, in two lines', chunked(TE, 'Transfer-Encoding: identity')],
  ]),
  ...refused(501, [
    ['identity alone', chunked('Transfer-Encoding: identity')],
    ['a coding that ends in chunked', chunked('Transfer-Encoding: xchunked')],
    ['a coding that begins with chunked', chunked('Transfer-Encoding: chunkedx')],
    ['chunked with a parameter', chunked('Transfer-Encoding: chunked;q=1')],
    ['chunked in quotes', chunked('Transfer-Encoding: "chunked"')],
    ['chunked after a byte above ASCII', chunked('Transfer-Encoding: \xa0chunked')],
    ['chunked before a byte above ASCII', chunked('Transfer-Encoding: chunked\x85')],
    ['a coding before chunked', chunked('Transfer-Encoding: identity, chunked')],
    ['gzip before chunked', chunked('Transfer-Encoding: gzip, chunked')],
    ['an empty coding before chunked', chunked('Transfer-Encoding: , chunked')],
    ['identity, then chunked, in two lines', chunked('Transfer-Encoding: identity', TE)],
  ]),
  ...cut([['chunked with blanks after it', chunked('Transfer-Encoding: chunked \t')]]),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['chunked in other letters', chunked('Transfer-Encoding: ChunKED')],
    ['chunked behind a tab', chunked('Transfer-Encoding:\tchunked')],
    ['chunked, also listed by Connection', chunked('Connection: Transfer-Encoding', TE)],
    ['a length, also listed by Connection', sized('Connection: Content-Length', CL)],
    ['a length with a name that only looks like a coding', sized(CL, 'Transfer_Encoding: chunked')],
  ]),
];

export const LENGTHS: Attack[] = [
  ...refused(400, [
    ['two lengths', sized(CL, 'Content-Length: 6')],
    ['the same length twice', sized(CL, CL)],
    ['a list of lengths', sized('Content-Length: 5, 6')],
    ['a list of the same length', sized('Content-Length: 5, 5')],
    ['a plus sign', sized('Content-Length: +5')],
    ['a minus sign', sized('Content-Length: -1')],
    ['a hexadecimal length', sized('Content-Length: 0x5')],
    ['a decimal point', sized('Content-Length: 5.0')],
    ['an exponent', sized('Content-Length: 5e0')],
    ['an underscore', sized('Content-Length: 1_0')],
    ['a blank inside', sized('Content-Length: 5 0')],
    ['a vertical tab', sized('Content-Length:\x0b5')],
    ['a byte above ASCII', sized('Content-Length: 5\xb2')],
    ['a space before the colon', sized('Content-Length : 5')],
    ['no value', sized('Content-Length:')],
    ['more than 64 bits', sized('Content-Length: 18446744073709551621')],
    ['a length, and chunks in a name with NUL', sized(CL, 'Transfer-Encoding\0: chunked')],
  ]),
  ...refused(413, [['more than a number holds exactly', sized('Content-Length: 9007199254740993')]]),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['blanks around it', sized('Content-Length: \t5 \t')],
    ['leading zeros', sized('Content-Length: 005')],
    ['a body that looks like a request', post(['Content-Length: 5'], 'hello')],
  ]),
  ...passed({ body: 'hello' }, [['a body of GET', get(CL) + 'hello']]),
  ...passed({ method: 'POST', body: HIDDEN }, [
    ['a whole request as its body', post([`Content-Length: ${HIDDEN.length}`], HIDDEN)],
  ]),
  {
    title: 'no length: what follows is a request',
    bytes: post([], HIDDEN),
    statuses: [200, 200],
    readings: [{ method: 'POST', path: '/first', host: 'shop.example', body: '' }, HIDDEN_READING],
  },
];

const of = (...lines: string[]): string => head('GET /first HTTP/1.1', ...lines);

export const HOSTS: Attack[] = [
  ...refused(400, [
    ['two', of(HOST, 'Host: other.example')],
    ['the same twice', of(HOST, HOST)],
    ['two in other letters', of(HOST, 'hOST: other.example')],
    ['none', of('X: 1')],
    ['a space before the colon', of('Host : shop.example')],
    ['an empty one', of('Host:')],
    ['a port alone', of('Host: :80')],
    ['a blank inside', of('Host: shop.example other.example')],
    ['a list', of('Host: shop.example, other.example')],
    ['a path', of('Host: shop.example/admin')],
    ['a query', of('Host: shop.example?x')],
    ['a fragment', of('Host: shop.example#x')],
    ['a backslash', of('Host: shop.example\\other')],
    ['credentials', of('Host: user@shop.example')],
    ['a port that is not a number', of('Host: shop.example:80a')],
    ['two ports', of('Host: shop.example:80:81')],
    ['a whole URL', of('Host: http://shop.example')],
    ['an open bracket', of('Host: [::1')],
    ['a byte above ASCII', of('Host: sh\xf6p.example')],
    ['a percent sign alone', of('Host: shop%.example')],
    ['a NUL', of('Host: shop\0.example')],
    ['a folded line', of('Host: shop.example\r\n other.example')],
    ['a folded first line', head('GET /first HTTP/1.1', ' Host: shop.example', HOST)],
  ]),
  ...passed({}, [
    ['one, also listed by Connection', of(HOST, 'Connection: Host')],
    ['one with a similar header name', of(HOST, 'X-Host: other.example', 'Host-: other.example')],
  ]),
  ...passed({ host: 'shop.example:8080' }, [['a port', of('Host: shop.example:8080')]]),
  ...passed({ host: '[::1]:8080' }, [['an IPv6 address', of('Host: [::1]:8080')]]),
];

const line = (first: string, ...lines: string[]): string => head(first, HOST, ...lines);

export const TARGETS: Attack[] = [
  ...refused(400, [
    ['authority form', line('GET shop.example:80 HTTP/1.1')],
    ['a path without a slash', line('GET first HTTP/1.1')],
    ['a star with another method than OPTIONS', line('GET * HTTP/1.1')],
    ['absolute form with credentials', line('GET http://user:p@shop.example/first HTTP/1.1')],
    ['absolute form without an authority', line('GET http:///first HTTP/1.1')],
    ['absolute form with a bad authority', line('GET http://sh\\op/first HTTP/1.1')],
    ['absolute form of another scheme', line('GET ftp://shop.example/first HTTP/1.1')],
    ['absolute form without any Host', head('GET http://shop.example/first HTTP/1.1')],
    ['a fragment', line('GET /first#/hidden HTTP/1.1')],
    ['a fragment in absolute form', line('GET http://shop.example#/first HTTP/1.1')],
    ['a blank', line('GET /fi rst HTTP/1.1')],
    ['a tab', line('GET /fi\trst HTTP/1.1')],
    ['a NUL', line('GET /fi\0rst HTTP/1.1')],
    ['a bare CR', line('GET /fi\rrst HTTP/1.1')],
    ['a delete character', line('GET /fi\x7frst HTTP/1.1')],
    ['a byte above ASCII', line('GET /f\xefrst HTTP/1.1')],
    ['tabs around it', line('GET\t/first\tHTTP/1.1')],
    ['a blank at the end of the line', line('GET /first HTTP/1.1 ')],
    ['a blank at the start of the line', line(' GET /first HTTP/1.1')],
    ['an unknown method', line('HACK /first HTTP/1.1')],
    ['a method in other letters', line('get /first HTTP/1.1')],
    ['no method', line('/first HTTP/1.1')],
    ['no target', line('GET HTTP/1.1')],
    ['HTTP/0.9 alone', 'GET /first\r\n'],
    ['HTTP/1.2', line('GET /first HTTP/1.2')],
    ['HTTP/3.0', line('GET /first HTTP/3.0')],
    ['HTTP/1.10', line('GET /first HTTP/1.10')],
    ['http in small letters', line('GET /first http/1.1')],
    ['another protocol', line('GET /first ICE/1.0')],
  ]),
  // The client receives HTTP/2 frames, not an HTTP/1.1 response.
  {
    title: 'the preface of HTTP/2',
    bytes: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${HIDDEN}`,
    statuses: [],
    readings: [],
  },
  ...refused(405, [
    ['CONNECT', line('CONNECT shop.example:80 HTTP/1.1')],
    ['CONNECT to a path', line('CONNECT /first HTTP/1.1')],
    ['CONNECT with a body', `${line('CONNECT shop.example:80 HTTP/1.1', CL)}hello`],
  ]),
  ...refused(505, [
    ['HTTP/0.9 with a header', 'GET /first\r\nHost: shop.example\r\n\r\n'],
    ['HTTP/2.0', line('GET /first HTTP/2.0')],
  ]),
  ...passed({ host: 'other.example' }, [
    ['absolute form, whose authority replaces Host', line('GET http://other.example/first HTTP/1.1')],
    ['absolute form of HTTPS', line('GET HTTPS://other.example/first HTTP/1.1')],
  ]),
  ...passed({}, [
    ['two blanks before it', line('GET  /first HTTP/1.1')],
    ['two blanks after it', line('GET /first  HTTP/1.1')],
    ['behind an empty line', `\r\n${get()}`],
    ['behind many empty lines', '\r\n'.repeat(5) + get()],
  ]),
  ...passed({ path: '//other.example/first' }, [
    ['a path that looks like an authority', line('GET //other.example/first HTTP/1.1')],
  ]),
  ...passed({ path: '/first/%2e%2e/%5c?x=%00&y=/../' }, [
    ['an escaped path', line('GET /first/%2e%2e/%5c?x=%00&y=/../ HTTP/1.1')],
  ]),
  ...passed({ host: AGENT }, [
    ['HTTP/1.0 without Host', head('GET /first HTTP/1.0', 'Connection: keep-alive')],
  ]),
];

export const LINES: Attack[] = [
  ...refused(400, [
    ['LF after the request line', `GET /first HTTP/1.1\n${HOST}\r\n\r\n`],
    ['LF after a header', `GET /first HTTP/1.1\r\n${HOST}\nX: 1\r\n\r\n`],
    ['LF at the end of the head', `GET /first HTTP/1.1\r\n${HOST}\r\n\n`],
    ['LF alone everywhere', `GET /first HTTP/1.1\n${HOST}\n\n`],
    ['LF twice inside a value', get('X: 1\n\nGET /inner HTTP/1.1')],
    ['CR after the request line', `GET /first HTTP/1.1\r${HOST}\r\n\r\n`],
    ['CR inside a value', get('X: 1\r2')],
    ['CR at the end of a value', get('X: 1\r')],
    ['CR inside a name', get('X\rY: 1')],
    ['CR at the end of the head', `GET /first HTTP/1.1\r\n${HOST}\r\n\r\r\n`],
    ['a folded line', get('X: 1', ' 2')],
    ['a line folded by a tab', get('X: 1', '\t2')],
    ['a line of blanks', get('X: 1', ' ')],
    ['NUL in a value', get('X: 1\x002')],
    ['NUL in a name', get('X\0: 1')],
    ['an escape in a value', get('X: 1\x1b2')],
    ['a delete character in a value', get('X: 1\x7f2')],
    ['a name without a colon', get('X')],
    ['an empty name', get(': 1')],
    ['a blank in a name', get('X Y: 1')],
    ['a blank before the colon', get('X : 1')],
    ['a slash in a name', get('X/Y: 1')],
    ['parentheses in a name', get('X(Y): 1')],
    ['brackets in a name', get('X[Y]: 1')],
    ['quotes in a name', get('"X": 1')],
    ['a comma in a name', get('X,Y: 1')],
    ['an at sign in a name', get('X@Y: 1')],
    ['a byte above ASCII in a name', get('X\xe4: 1')],
  ]),
  ...refused(431, [
    ['a header of 64 KB', get(`X: ${'x'.repeat(65_536)}`)],
    ['a name of 64 KB', get(`${'x'.repeat(65_536)}: 1`)],
    ['64 KB of short headers', get(...Array.from({ length: 4_096 }, (_, i) => `X-${i}: 123456789`))],
    ['a request line of 64 KB', line(`GET /${'x'.repeat(65_536)} HTTP/1.1`)],
    ['257 headers', get(...Array.from({ length: 257 }, (_, i) => `X${i}: 1`))],
    ['500 headers', get(...Array.from({ length: 500 }, (_, i) => `X${i}: 1`))],
  ]),
  ...passed({}, [
    ['every character that a name may have', get("X!#$%&'*+-.^_`|~09: 1")],
    ['a value above ASCII', get('X: \xe4\xff')],
    ['a value without a blank before it', get('X:1')],
    ['an empty value', get('X:')],
    ['250 headers', get(...Array.from({ length: 250 }, (_, i) => `X${i}: 1`))],
  ]),
];

export const CHUNKING: Attack[] = [
  ...cut([
    ['LF after the size', chunks('5\nhello\r\n0\r\n\r\n')],
    ['CR after the size', chunks('5\rhello\r\n0\r\n\r\n')],
    ['LF after the data', chunks('5\r\nhello\n0\r\n\r\n')],
    ['CR after the data', chunks('5\r\nhello\r0\r\n\r\n')],
    ['nothing after the data', chunks('5\r\nhello0\r\n\r\n')],
    ['other bytes after the data', chunks('5\r\nhelloXX\r\n0\r\n\r\n')],
    ['more data than declared', chunks('5\r\nhello!\r\n0\r\n\r\n')],
    ['LF after the last size', chunks('5\r\nhello\r\n0\n\r\n')],
    ['LF at the end', chunks('5\r\nhello\r\n0\r\n\n')],
    ['LF in an extension', chunks('5;a\nhello\r\n0\r\n\r\n')],
    ['CR in an extension', chunks('5;a\rb\r\nhello\r\n0\r\n\r\n')],
    ['LF in a quoted extension', chunks('5;a="\n"\r\nhello\r\n0\r\n\r\n')],
    ['NUL in an extension', chunks('5;a\0\r\nhello\r\n0\r\n\r\n')],
    ['a size in the notation of C', chunks('0x5\r\nhello\r\n0\r\n\r\n')],
    ['a signed size', chunks('+5\r\nhello\r\n0\r\n\r\n')],
    ['a negative size', chunks('-5\r\nhello\r\n0\r\n\r\n')],
    ['a blank before the size', chunks(' 5\r\nhello\r\n0\r\n\r\n')],
    ['a blank after the size', chunks('5 \r\nhello\r\n0\r\n\r\n')],
    ['a tab after the size', chunks('5\t\r\nhello\r\n0\r\n\r\n')],
    ['an underscore in the size', chunks('0_5\r\nhello\r\n0\r\n\r\n')],
    ['no size', chunks('\r\nhello\r\n0\r\n\r\n')],
    ['a size above 64 bits', chunks('10000000000000005\r\nhello\r\n0\r\n\r\n')],
    ['a size far above 64 bits', chunks(`${'f'.repeat(100)}5\r\nhello\r\n0\r\n\r\n`)],
    ['no end: the next request is read as trailers', chunks('5\r\nhello\r\n0\r\n')],
    ['a folded trailer', chunks('0\r\nX: 1\r\n 2\r\n\r\n')],
    ['a trailer with a blank before its colon', chunks('0\r\nX : 1\r\n\r\n')],
    ['a trailer behind a bare LF', chunks('0\r\nX: 1\nY: 2\r\n\r\n')],
    ['a trailer without a colon', chunks('0\r\nX\r\n\r\n')],
    ['a coding as a trailer', chunks('0\r\nTransfer-Encoding: chunked\r\n\r\n')],
    ['a length as a trailer', chunks('5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n')],
    ['64 KB of extensions', chunks(`5;${'x'.repeat(65_536)}\r\nhello\r\n0\r\n\r\n`)],
  ]),
  ...cut([['64 KB of trailers', chunks(`0\r\nX: ${'x'.repeat(65_536)}\r\n\r\n`)]], 431),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['an extension', chunks('5;a\r\nhello\r\n0\r\n\r\n')],
    ['an extension with a value', chunks('5;a=b;c="d e"\r\nhello\r\n0;e\r\n\r\n')],
    ['leading zeros', chunks('0005\r\nhello\r\n000\r\n\r\n')],
    ['two chunks', chunks('2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n')],
    ['a host as a trailer', chunks('5\r\nhello\r\n0\r\nHost: other.example\r\n\r\n')],
    [
      'the sidecar’s own word as a trailer',
      chunks('5\r\nhello\r\n0\r\nX-Forwarded-Host: other.example\r\n\r\n'),
    ],
  ]),
  ...passed({ method: 'POST', body: '\r\n0\r\n\r\n' + HIDDEN }, [
    [
      'an end and a request inside a chunk',
      chunks(`${(HIDDEN.length + 7).toString(16).toUpperCase()}\r\n\r\n0\r\n\r\n${HIDDEN}\r\n0\r\n\r\n`),
    ],
  ]),
];

const UPGRADE = 'Connection: Upgrade';
const H2C = [
  'Connection: Upgrade, HTTP2-Settings',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
];
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

export const UPGRADES: Attack[] = [
  ...refused(400, [
    ['WebSocket and h2c', get(UPGRADE, 'Upgrade: websocket, h2c')],
    ['WebSocket with a body', sized(CL, UPGRADE, 'Upgrade: websocket', KEY)],
    ['WebSocket with chunks', chunked(TE, UPGRADE, 'Upgrade: websocket', KEY)],
    ['WebSocket with a body of GET', `${get(CL, UPGRADE, 'Upgrade: websocket', KEY)}hello`],
    ['WebSocket by POST', post([UPGRADE, 'Upgrade: websocket', KEY], '')],
    ['WebSocket in HTTP/1.0', head('GET /first HTTP/1.0', HOST, UPGRADE, 'Upgrade: websocket', KEY)],
    ['WebSocket with two Hosts', get('Host: other.example', UPGRADE, 'Upgrade: websocket', KEY)],
    ['h2c with a length and chunks', chunked(CL, TE, UPGRADE, 'Upgrade: h2c')],
    ['h2c with two Hosts', get('Host: other.example', UPGRADE, 'Upgrade: h2c')],
  ]),
  // Upgrade not accepted: the header is removed, and the request is handled like any other.
  ...passed({}, [
    ['h2c, as offered by Java', get(...H2C)],
    ['h2c in two lines', get(UPGRADE, 'Upgrade: h2c', 'upgrade: h2')],
    ['TLS', get(UPGRADE, 'Upgrade: TLS/1.0')],
    ['an upgrade that Connection does not list', get('Upgrade: h2c')],
    ['a Connection without an upgrade', get(UPGRADE)],
  ]),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['h2c with a body', sized(CL, ...H2C)],
    ['h2c with chunks', chunked(TE, ...H2C)],
  ]),
  ...refused(417, [['h2c that expects something', sized(CL, 'Expect: 200-ok', ...H2C)]]),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['h2c with Expect: 100-continue', sized(CL, 'Expect: 100-continue', ...H2C)],
  ]).map((attack) => ({ ...attack, statuses: [100, 200, 200] })),
  // nginx does not switch protocols: the client's frames must not be read as a request.
  ...['13', '777'].map((version): Attack => ({
    title: `WebSocket of version ${version} that the agent responds to in plain HTTP`,
    bytes: get(UPGRADE, 'Upgrade: websocket', KEY, `Sec-WebSocket-Version: ${version}`) + HIDDEN,
    statuses: [200],
    readings: [{ method: 'GET', path: '/first', host: 'shop.example', body: '' }],
  })),
];

export const EXPECTATIONS: Attack[] = [
  ...refused(417, [['an unknown expectation', sized(CL, 'Expect: 200-ok')]]),
  ...refused(400, [
    ['of a request with two Hosts', sized(CL, 'Expect: 100-continue', 'Host: other.example')],
    ['of a length with chunks', chunked(CL, TE, 'Expect: 100-continue')],
  ]),
  ...passed({ method: 'POST', body: 'hello' }, [
    ['met here', sized(CL, 'Expect: 100-continue')],
    ['met here, of chunks', chunked(TE, 'Expect: 100-Continue')],
  ]).map((attack) => ({ ...attack, statuses: [100, 200, 200] })),
];
