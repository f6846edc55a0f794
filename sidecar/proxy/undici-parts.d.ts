// undici's entry point loads all of it (fetch, WebSocket, caches, mocks): three times the code that a proxy needs, in the
// bundle and in memory. These are the parts of it, with the types that the entry point gives them.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';
  export default buildConnector;
}
declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';
  export default errors;
}
declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kParser: unique symbol };
  export default symbols;
}
