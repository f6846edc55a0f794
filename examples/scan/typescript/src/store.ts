import { QdrantClient } from '@qdrant/js-client-rest';
import pg from 'pg';
import { env } from './env.js';

export const pool = new pg.Pool({ connectionString: env.DATABASE_URL });

export const articles = new QdrantClient({ url: env.QDRANT_URL });
