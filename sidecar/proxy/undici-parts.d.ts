// undici's entry point loads everything (fetch, WebSocket, caches, mocks): three times the code that a proxy needs, in the
// bundle and in memory. These declarations give the required modules the types of the entry point.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector } from 'undici';
  /** The types of the entry point omit the socket options and the returned socket. */
  export default function (
    options: buildConnector.BuildOptions & {
      highWaterMark: undefined;
      readableHighWaterMark: number;
      writableHighWaterMark: number;
    },
  ): (...args: Parameters<buildConnector.connector>) => Socket;
}
declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';
  export default errors;
}
declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kParser: unique symbol };
  export default symbols;
}
