import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { EtcdEndpoint } from '../../../cli/up/control-plane/control-plane-flags.ts';

/** What an API server keeps, by key; both in base64, as etcd's gateway has them. */
type Content = ReadonlyMap<string, string>;

/** The content of an API server's etcd, to be put back as it was. */
export interface EtcdContent extends Disposable {
  /** Remembers what is there now. */
  keep(): Promise<void>;
  /**
   * Puts back what was there when it was kept; the API server hears of it as of any write.
   * @returns the keys that were not as they were
   */
  putBack(): Promise<string[]>;
}

const first = Buffer.from('/registry/').toString('base64');
const end = Buffer.from('/registry0').toString('base64');
/** Of the API server itself, which renews it all the time. */
const itsOwn = /^\/registry\/(?:leases|masterleases|ranges|events)\//;

/** @param endpoint - whose client certificate may read and write everything */
export function etcdContent({ url, caPath, client }: EtcdEndpoint): EtcdContent {
  const agent = new Agent({
    ca: readFileSync(caPath),
    cert: readFileSync(client.certPath),
    key: readFileSync(client.keyPath),
    keepAlive: true,
  });
  let kept: Content = new Map();

  function post<Reply>(path: string, body: object): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const sent = request(`${url}/v3/kv/${path}`, { method: 'POST', agent }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.once('error', reject);
      reply.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (reply.statusCode === 200) resolve(JSON.parse(text) as Reply);
        else reject(new Error(`etcd answers ${path} with ${reply.statusCode}: ${text}`));
      });
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
    return promise;
  }
  async function read(): Promise<Content> {
    const { kvs } = await post<{ kvs: { key: string; value?: string }[] }>('range', {
      key: first,
      range_end: end,
    });
    const all = kvs.map(({ key, value = '' }) => [key, value] as const);
    return new Map(all.filter(([key]) => !itsOwn.test(text(key))));
  }
  return {
    keep: async () => {
      kept = await read();
    },
    async putBack() {
      const now = await read();
      const changed = [...kept].filter(([key, value]) => now.get(key) !== value);
      const added = [...now.keys()].filter((key) => !kept.has(key));
      for (const key of added) await post('deleterange', { key });
      for (const [key, value] of changed) await post('put', { key, value });
      return [...changed.map(([key]) => key), ...added].map(text);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
