import type { Call, Code, Setting } from '../code.ts';
import type { StoreFound } from '../discovery.ts';
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

/** The calls that open a store of one role, with the backend of the store. */
const stores = (role: Role, rows: readonly (readonly [backend: string, name: RegExp])[]): CallRow[] =>
  rows.map(([backend, name]) => ({
    language: 'any',
    name,
    read: (call, code) => [{ kind: 'store', role, backend, address: addressOf(call, code) }],
  }));

export const STORE_ROWS: readonly CallRow[] = [
  ...stores('shortTerm', [
    ['redis', /^langgraph\.checkpoint\.redis[\w.]*:\w*RedisSaver(?:\.from_conn_string)?$/],
    ['postgres', /^langgraph\.checkpoint\.postgres[\w.]*:\w*PostgresSaver(?:\.from_conn_string)?$/],
    ['sqlite', /^langgraph\.checkpoint\.sqlite[\w.]*:\w*SqliteSaver(?:\.from_conn_string)?$/],
    ['in-memory', /^langgraph\.checkpoint\.memory:(?:InMemory|Memory)Saver$/],
    ['postgres', /^@langchain\/langgraph-checkpoint-postgres[\w/-]*:PostgresSaver(?:\.fromConnString)?$/],
    ['redis', /^@langchain\/langgraph-checkpoint-redis[\w/-]*:RedisSaver(?:\.fromUrl)?$/],
    ['in-memory', /^@langchain\/langgraph[\w-]*:(?:InMemory|Memory)Saver$/],
    ['redis', /^langchain[\w.]*:RedisChatMessageHistory$/],
    ['postgres', /^langchain[\w.]*:(?:SQL|Postgres)ChatMessageHistory$/],
    ['in-memory', /^langchain[\w.]*:Conversation\w*Memory$/],
    ['sqlite', /^(?:agents[\w.]*):(?:Advanced)?SQLiteSession$/],
    ['redis', /^(?:agents[\w.]*):RedisSession(?:\.from_url)?$/],
    ['libsql', /^@mastra\/libsql:LibSQLStore$/],
    ['postgres', /^@mastra\/pg:PostgresStore$/],
    ['upstash', /^@mastra\/upstash:UpstashStore$/],
    ['in-memory', /^llama_index[\w.]*:ChatMemoryBuffer(?:\.from_defaults)?$/],
  ]),
  ...stores('longTerm', [
    ['postgres', /^langgraph\.store\.postgres[\w.]*:\w*PostgresStore(?:\.from_conn_string)?$/],
    ['in-memory', /^langgraph\.store\.memory:InMemoryStore$/],
    ['mem0', /^mem0:(?:Async)?Memory(?:Client)?(?:\.from_config)?$|^mem0ai[\w/]*:default$/],
    ['zep', /^zep_cloud[\w.]*:(?:Async)?Zep$|^@getzep\/zep-cloud:ZepClient$/],
  ]),
  ...stores('vector', [
    ['chroma', /^chromadb[\w.]*:\w*Client$|^chromadb:(?:ChromaClient|CloudClient)$/],
    ['chroma', /^langchain[\w.]*:Chroma(?:\.from_\w+)?$|^@langchain\/[\w/-]+:Chroma(?:\.from\w+)?$/],
    ['qdrant', /^qdrant_client[\w.]*:(?:Async)?QdrantClient$|^@qdrant\/[\w-]+:QdrantClient$/],
    ['qdrant', /^@?langchain[\w./-]*:QdrantVectorStore(?:\.from\w+)?$/],
    ['pinecone', /^pinecone[\w.]*:Pinecone(?:Asyncio)?$|^@pinecone-database\/pinecone:Pinecone$/],
    ['pinecone', /^@?langchain[\w./-]*:PineconeVectorStore|^@langchain\/pinecone:PineconeStore/],
    ['pgvector', /^@?langchain[\w./-]*:PG(?:Vector|VectorStore)(?:\.\w+)?$/],
    ['pgvector', /^@mastra\/pg:PgVector$/],
    ['faiss', /^@?langchain[\w./-]*:(?:FAISS|FaissStore)(?:\.\w+)?$/],
    ['weaviate', /^weaviate[\w.]*:(?:connect_to_\w+|use_async_with_\w+|Client)$/],
    ['milvus', /^pymilvus[\w.]*:(?:Async)?MilvusClient$|^@zilliz\/milvus2-sdk-node:MilvusClient$/],
    ['lancedb', /^lancedb:connect$|^@lancedb\/lancedb:connect$/],
  ]),
  ...stores('service', [
    ['redis', /^redis[\w.]*:(?:Strict)?Redis(?:\.from_url)?$|^redis[\w.]*:from_url$/],
    ['redis', /^(?:ioredis:(?:default|Redis)|redis:createClient)$/],
    [
      'postgres',
      /^(?:asyncpg:(?:connect|create_pool)|psycopg2?[\w.]*:connect|psycopg_pool:\w*ConnectionPool)$/,
    ],
    ['postgres', /^pg:(?:Pool|Client)$|^postgres:default$|^@neondatabase\/serverless:(?:neon|Pool)$/],
    ['database', /^sqlalchemy[\w.]*:create_(?:async_)?engine$/],
    [
      'mongodb',
      /^(?:pymongo:(?:Async)?MongoClient|motor\.motor_asyncio:AsyncIOMotorClient|mongodb:MongoClient)$/,
    ],
    [
      'mysql',
      /^(?:pymysql:connect|aiomysql:(?:connect|create_pool)|mysql2[\w/]*:create(?:Pool|Connection))$/,
    ],
    ['elasticsearch', /^elasticsearch:(?:Async)?Elasticsearch$|^@elastic\/elasticsearch:Client$/],
    ['rabbitmq', /^(?:aio_pika:connect(?:_robust)?|amqplib[\w/]*:connect)$/],
  ]),
];
