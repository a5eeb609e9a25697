import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, Resource } from '@rollcall/shared/kubernetes';
import type { EtcdEndpoint } from '../../cli/up/control-plane/control-plane-flags.ts';

/** What etcd takes in one transaction, by its default. */
const mostInTransaction = 100;
const transactionsAtOnce = 4;

/** An object and its kind, as an API server has stored it: with uid and time of creation. */
export interface ToStore {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/**
 * What an API server has under that name, to be stored again.
 * @throws RollcallError UNEXPECTED when there is none
 */
export async function readToStore(admin: KubeClient, resource: Resource, name: string): Promise<ToStore> {
  const object = await admin.get<KubeObject>(resource, { name });
  if (!object) throw new RollcallError('UNEXPECTED', `there is no ${resource.kind} "${name}"`);
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { resource, object: { ...object, metadata } };
}

/** Kinds of Kubernetes itself stand there without their group. */
function keyOf({ resource, object }: ToStore): string {
  const { group, plural, namespaced } = resource;
  const { name, namespace } = object.metadata;
  const ofGroup = group.endsWith('.dev') ? [group] : [];
  return ['/registry', ...ofGroup, plural, ...(namespaced ? [namespace] : []), name].join('/');
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/**
 * Puts objects into etcd past the API server, which then has them as if it had written them: a hundred thousand in a minute
 * instead of half an hour. They are JSON, which an API server reads of every kind.
 * @throws RollcallError UNEXPECTED when etcd refuses
 */
export async function storeObjects(etcd: EtcdEndpoint, objects: Iterable<ToStore>): Promise<void> {
  const agent = new Agent({
    ca: readFileSync(etcd.caPath),
    cert: readFileSync(etcd.client.certPath),
    key: readFileSync(etcd.client.keyPath),
    keepAlive: true,
  });
  async function put(batch: readonly ToStore[]): Promise<void> {
    const success = batch.map((one) => ({
      requestPut: { key: base64(keyOf(one)), value: base64(JSON.stringify(one.object)) },
    }));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const request = httpsRequest(`${etcd.url}/v3/kv/txn`, { agent, method: 'POST' }, (answer) => {
      answer.on('error', reject);
      answer.on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    request.on('error', reject);
    request.end(JSON.stringify({ success }));
    const status = await promise;
    if (status !== 200) throw new RollcallError('UNEXPECTED', `etcd answered ${status}`);
  }

  const left = objects[Symbol.iterator]();
  function nextBatch(): ToStore[] {
    const batch: ToStore[] = [];
    while (batch.length < mostInTransaction) {
      const next = left.next();
      if (next.done === true) break;
      batch.push(next.value);
    }
    return batch;
  }
  async function lane(): Promise<void> {
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) await put(batch);
  }
  try {
    await Promise.all(Array.from({ length: transactionsAtOnce }, lane));
  } finally {
    agent.destroy();
  }
}
