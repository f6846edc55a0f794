import type { Call, Code, Setting } from '../code.ts';
import type { StoreFound } from '../finding.ts';
import type { CallRow } from '../row.ts';

type Role = StoreFound['role'];

const ADDRESS = [
  'url',
  'uri',
  'dsn',
  'connection_string',
  'connectionString',
  'conn_string',
  'connection',
  'redis_url',
  'database_url',
  'conninfo',
  'node',
  'brokers',
  0,
] as const;

/** Address of a store: a literal, a variable, or host and port. */
function addressOf(call: Call, code: Code): Setting | null {
  const host = code.textOption(call, ['host']);
  const port = code.textOption(call, ['port']);
  if (host !== null && port !== null) return { text: `${host}:${port}`, variable: null };
  return code.setting(call, ADDRESS);
}

const store = (framework: string, name: RegExp, role: Role, backend: string): CallRow => ({
  framework,
  language: 'any',
  name,
  read: (call, code) => [{ kind: 'store', role, backend, address: addressOf(call, code) }],
});

const CONVERSATION: readonly CallRow[] = [
  store(
    'langgraph',
    /^langgraph\.checkpoint\.redis[\w.]*:\w*RedisSaver(?:\.from_conn_string)?$/,
    'shortTerm',
    'redis',
  ),
  store(
    'langgraph',
    /^langgraph\.checkpoint\.postgres[\w.]*:\w*PostgresSaver(?:\.from_conn_string)?$/,
    'shortTerm',
    'postgres',
  ),
  store(
    'langgraph',
    /^langgraph\.checkpoint\.sqlite[\w.]*:\w*SqliteSaver(?:\.from_conn_string)?$/,
    'shortTerm',
    'sqlite',
  ),
  store('langgraph', /^langgraph\.checkpoint\.memory:(?:InMemory|Memory)Saver$/, 'shortTerm', 'in-memory'),
  store(
    'langgraph',
    /^@langchain\/langgraph-checkpoint-postgres[\w/-]*:PostgresSaver(?:\.fromConnString)?$/,
    'shortTerm',
    'postgres',
  ),
  store(
    'langgraph',
    /^@langchain\/langgraph-checkpoint-redis[\w/-]*:RedisSaver(?:\.fromUrl)?$/,
    'shortTerm',
    'redis',
  ),
  store('langgraph', /^@langchain\/langgraph[\w-]*:(?:InMemory|Memory)Saver$/, 'shortTerm', 'in-memory'),
  store('langchain', /^langchain[\w.]*:RedisChatMessageHistory$/, 'shortTerm', 'redis'),
  store('langchain', /^langchain[\w.]*:(?:SQL|Postgres)ChatMessageHistory$/, 'shortTerm', 'postgres'),
  store('langchain', /^langchain[\w.]*:Conversation\w*Memory$/, 'shortTerm', 'in-memory'),
  store('openai-agents', /^(?:agents[\w.]*):(?:Advanced)?SQLiteSession$/, 'shortTerm', 'sqlite'),
  store('openai-agents', /^(?:agents[\w.]*):RedisSession(?:\.from_url)?$/, 'shortTerm', 'redis'),
  store('mastra', /^@mastra\/libsql:LibSQLStore$/, 'shortTerm', 'libsql'),
  store('mastra', /^@mastra\/pg:PostgresStore$/, 'shortTerm', 'postgres'),
  store('mastra', /^@mastra\/upstash:UpstashStore$/, 'shortTerm', 'upstash'),
  store('llama-index', /^llama_index[\w.]*:ChatMemoryBuffer(?:\.from_defaults)?$/, 'shortTerm', 'in-memory'),
];

const LONG_TERM: readonly CallRow[] = [
  store(
    'langgraph',
    /^langgraph\.store\.postgres[\w.]*:\w*PostgresStore(?:\.from_conn_string)?$/,
    'longTerm',
    'postgres',
  ),
  store('langgraph', /^langgraph\.store\.memory:InMemoryStore$/, 'longTerm', 'in-memory'),
  store(
    'mem0',
    /^mem0:(?:Async)?Memory(?:Client)?(?:\.from_config)?$|^mem0ai[\w/]*:default$/,
    'longTerm',
    'mem0',
  ),
  store('zep', /^zep_cloud[\w.]*:(?:Async)?Zep$|^@getzep\/zep-cloud:ZepClient$/, 'longTerm', 'zep'),
];

const VECTOR: readonly CallRow[] = [
  store('chroma', /^chromadb[\w.]*:\w*Client$|^chromadb:(?:ChromaClient|CloudClient)$/, 'vector', 'chroma'),
  store(
    'langchain',
    /^langchain[\w.]*:Chroma(?:\.from_\w+)?$|^@langchain\/[\w/-]+:Chroma(?:\.from\w+)?$/,
    'vector',
    'chroma',
  ),
  store(
    'qdrant',
    /^qdrant_client[\w.]*:(?:Async)?QdrantClient$|^@qdrant\/[\w-]+:QdrantClient$/,
    'vector',
    'qdrant',
  ),
  store('langchain', /^@?langchain[\w./-]*:QdrantVectorStore(?:\.from\w+)?$/, 'vector', 'qdrant'),
  store(
    'pinecone',
    /^pinecone[\w.]*:Pinecone(?:Asyncio)?$|^@pinecone-database\/pinecone:Pinecone$/,
    'vector',
    'pinecone',
  ),
  store(
    'langchain',
    /^@?langchain[\w./-]*:PineconeVectorStore|^@langchain\/pinecone:PineconeStore/,
    'vector',
    'pinecone',
  ),
  store('langchain', /^@?langchain[\w./-]*:PG(?:Vector|VectorStore)(?:\.\w+)?$/, 'vector', 'pgvector'),
  store('mastra', /^@mastra\/pg:PgVector$/, 'vector', 'pgvector'),
  store('langchain', /^@?langchain[\w./-]*:(?:FAISS|FaissStore)(?:\.\w+)?$/, 'vector', 'faiss'),
  store('weaviate', /^weaviate[\w.]*:(?:connect_to_\w+|use_async_with_\w+|Client)$/, 'vector', 'weaviate'),
  store(
    'milvus',
    /^pymilvus[\w.]*:(?:Async)?MilvusClient$|^@zilliz\/milvus2-sdk-node:MilvusClient$/,
    'vector',
    'milvus',
  ),
  store('lancedb', /^lancedb:connect$|^@lancedb\/lancedb:connect$/, 'vector', 'lancedb'),
];

const SERVICES: readonly CallRow[] = [
  store('redis', /^redis[\w.]*:(?:Strict)?Redis(?:\.from_url)?$|^redis[\w.]*:from_url$/, 'service', 'redis'),
  store('redis', /^(?:ioredis:(?:default|Redis)|redis:createClient)$/, 'service', 'redis'),
  store(
    'postgres',
    /^(?:asyncpg:(?:connect|create_pool)|psycopg2?[\w.]*:connect|psycopg_pool:\w*ConnectionPool)$/,
    'service',
    'postgres',
  ),
  store(
    'postgres',
    /^pg:(?:Pool|Client)$|^postgres:default$|^@neondatabase\/serverless:(?:neon|Pool)$/,
    'service',
    'postgres',
  ),
  store('sqlalchemy', /^sqlalchemy[\w.]*:create_(?:async_)?engine$/, 'service', 'database'),
  store(
    'mongodb',
    /^(?:pymongo:(?:Async)?MongoClient|motor\.motor_asyncio:AsyncIOMotorClient|mongodb:MongoClient)$/,
    'service',
    'mongodb',
  ),
  store(
    'mysql',
    /^(?:pymysql:connect|aiomysql:(?:connect|create_pool)|mysql2[\w/]*:create(?:Pool|Connection))$/,
    'service',
    'mysql',
  ),
  store(
    'elasticsearch',
    /^elasticsearch:(?:Async)?Elasticsearch$|^@elastic\/elasticsearch:Client$/,
    'service',
    'elasticsearch',
  ),
  store('rabbitmq', /^(?:aio_pika:connect(?:_robust)?|amqplib[\w/]*:connect)$/, 'service', 'rabbitmq'),
];

export const STORE_ROWS: readonly CallRow[] = [...CONVERSATION, ...LONG_TERM, ...VECTOR, ...SERVICES];
