// Imports articles from a file of JSON lines: node scripts/import-articles.mjs <file>
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { QdrantClient } from '@qdrant/js-client-rest';

const articles = new QdrantClient({ url: process.env.QDRANT_URL });
const lines = readFileSync(process.argv[2] ?? 'articles.jsonl', 'utf8').trim().split('\n');
await articles.upsert('articles', {
  points: lines.map((line) => ({ id: randomUUID(), payload: JSON.parse(line), vector: [] })),
});
