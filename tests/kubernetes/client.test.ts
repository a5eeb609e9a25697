import { RollcallError } from '@rollcall/shared/errors';
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import {
  applyManifests,
  createKubeClient,
  createResourceCache,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  type KubeClient,
  type KubeObject,
  readJsonLines,
  resources,
  watchResource,
  type WatchEvent,
} from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane/control-plane.ts';

type ConfigMap = KubeObject & { data?: Record<string, string> };
const { configMaps, namespaces, serviceAccounts } = resources;
const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-client-'));
let plane: ControlPlane;
let client: KubeClient;

beforeAll(async () => {
  plane = await startControlPlane({ stateDir, withControllerManager: false });
  client = createKubeClient(plane.access, { fieldManager: 'rollcall', userAgent: 'rollcall-test' });
});
afterAll(async () => {
  client?.close();
  await plane?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

let count = 0;
async function aNamespace(): Promise<string> {
  const name = `test-${++count}`;
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}
const aConfigMap = (namespace: string, name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

/** Collects what a watch says, and lets a test wait for it. */
function listen() {
  const seen: string[] = [];
  const waiting = new Map<string, () => void>();
  const say = (what: string): void => {
    seen.push(what);
    waiting.get(what)?.();
  };
  return {
    seen,
    say,
    onEvent: (event: WatchEvent<ConfigMap>) =>
      say(
        `${event.kind} ${event.object.metadata.name}${event.kind === 'deleted' ? ` by ${event.seenBy}` : ''}`,
      ),
    heard: (what: string): Promise<void> =>
      seen.includes(what) ? Promise.resolve() : new Promise((resolve) => waiting.set(what, resolve)),
  };
}

/** What two clients must agree about. */
const shape = (object: {
  metadata?: { name?: string; uid?: string; resourceVersion?: string };
  data?: object;
}) => [object.metadata?.name, object.metadata?.uid, object.metadata?.resourceVersion, object.data];

const outcomes = async (...manifests: string[]) =>
  (await applyManifests(client, manifests)).map(({ kind, outcome }) => `${kind} ${outcome}`);

const openTlsSockets = (): string[] => process.getActiveResourcesInfo().filter((kind) => kind === 'TLSWrap');

describe('requests', () => {
  test('create, get, replace, patch, delete', async () => {
    const namespace = await aNamespace();
    const created = await client.create<ConfigMap>(
      configMaps,
      aConfigMap(namespace, 'a', { x: '1', y: '2' }),
    );
    expect(created.metadata.uid).toBeTruthy();
    await expect(client.create(configMaps, aConfigMap(namespace, 'a'))).rejects.toSatisfy(isAlreadyExists);

    const patched = await client.mergePatch<ConfigMap>(
      configMaps,
      'a',
      { data: { x: null, z: '3' } },
      { namespace },
    );
    expect(patched.data).toEqual({ y: '2', z: '3' });
    await expect(client.replace(configMaps, created)).rejects.toSatisfy(isConflict);
    const replaced = await client.replace<ConfigMap>(configMaps, { ...patched, data: { only: 'this' } });
    expect(await client.get<ConfigMap>(configMaps, { name: 'a', namespace })).toEqual(replaced);

    const dry = await client.mergePatch<ConfigMap>(
      configMaps,
      'a',
      { data: { dry: '1' } },
      { namespace, dryRun: true },
    );
    expect(dry.data).toHaveProperty('dry');
    expect((await client.get<ConfigMap>(configMaps, { name: 'a', namespace }))?.data).toEqual({
      only: 'this',
    });

    const stale = { uid: '00000000-0000-4000-8000-000000000000' };
    await expect(client.delete(configMaps, 'a', { namespace, preconditions: stale })).rejects.toSatisfy(
      isConflict,
    );
    expect(await client.delete(configMaps, 'a', { namespace, dryRun: true })).toBe(true);
    expect(await client.delete(configMaps, 'a', { namespace })).toBe(true);
    expect(await client.delete(configMaps, 'a', { namespace })).toBe(false);
    expect(await client.get(configMaps, { name: 'a', namespace })).toBeUndefined();
  });

  test('server-side apply: equal changes nothing, a field of another manager is a conflict unless forced', async () => {
    const namespace = await aNamespace();
    const first = await client.apply<ConfigMap>(configMaps, aConfigMap(namespace, 'a', { x: '1' }));
    const again = await client.apply<ConfigMap>(configMaps, aConfigMap(namespace, 'a', { x: '1' }));
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);

    const other = createKubeClient(plane.access, { fieldManager: 'other', userAgent: 'rollcall-test' });
    await expect(other.apply(configMaps, aConfigMap(namespace, 'a', { x: '2' }))).rejects.toSatisfy(
      isConflict,
    );
    const forced = await other.apply<ConfigMap>(configMaps, aConfigMap(namespace, 'a', { x: '2' }), {
      force: true,
    });
    expect(forced.data).toEqual({ x: '2' });
    other.close();
  });

  test('another user has that user’s rights, and a minted token works', async () => {
    const nobody = createKubeClient(plane.userAccess('nobody'), {
      fieldManager: 'n',
      userAgent: 'rollcall-test',
    });
    await expect(nobody.list(configMaps)).rejects.toSatisfy(isForbidden);
    nobody.close();

    const namespace = await aNamespace();
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace } };
    await client.create(serviceAccounts, account);
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    };
    const target = { name: 'robot', namespace, subresource: 'token' };
    const { status } = await client.createSubresource<{ status: { token: string } }>(
      serviceAccounts,
      target,
      request,
    );
    const { certPem: _cert, keyPem: _key, ...withoutUser } = plane.access;
    const access = { ...withoutUser, token: async () => status.token };
    const robot = createKubeClient(access, { fieldManager: 'robot', userAgent: 'rollcall-test' });
    await expect(robot.list(configMaps)).rejects.toThrow(`system:serviceaccount:${namespace}:robot`);
    robot.close();
  });

  test('a source of tokens that works and fails for a moment is no wrong kubeconfig', async () => {
    const { certPem: _cert, keyPem: _key, ...withoutUser } = plane.access;
    const failure = new RollcallError('KUBECONFIG_INVALID', 'the credential plugin "p" failed: ETIMEDOUT');
    const answers: (() => string)[] = [];
    const token = async () => answers.shift()?.() ?? 'nobody';
    const fail = () => {
      throw failure;
    };
    const someone = createKubeClient(
      { ...withoutUser, token },
      { fieldManager: 'x', userAgent: 'rollcall-test' },
    );
    answers.push(fail);
    await expect(someone.list(configMaps)).rejects.toMatchObject({ code: 'KUBECONFIG_INVALID' });
    await expect(someone.list(configMaps)).rejects.toMatchObject({ status: 401 });
    answers.push(fail);
    await expect(someone.list(configMaps)).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE', retry: true });
    someone.close();
  });

  test('refusals and missing servers have their own codes', async () => {
    const wrong = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'Not Valid' } };
    await expect(client.create(namespaces, wrong)).rejects.toSatisfy(isInvalid);
    const nowhere = createKubeClient(
      { ...plane.access, server: 'https://127.0.0.1:1' },
      {
        fieldManager: 'x',
        userAgent: 'rollcall-test',
      },
    );
    await expect(nowhere.list(namespaces)).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE', retry: true });
    await expect(client.raw('/version')).resolves.toMatchObject({ status: 200 });
    expect(await client.hasApiGroup('apps')).toBe(true);
    expect(await client.hasApiGroup('rollcall.example')).toBe(false);
    expect(await client.get(resources.managedClusters, { name: 'no-such-kind' })).toBeUndefined();
    await expect(client.list(namespaces, { signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
  });

  test('1,200 objects come in pages, and the same ones as client-node sees', async () => {
    const namespace = await aNamespace();
    const names = Array.from({ length: 1_200 }, (_, i) => `m-${i}`);
    await Promise.all(names.map((name) => client.create(configMaps, aConfigMap(namespace, name, { name }))));
    const page = await client.listPage(configMaps, { namespace, limit: 500 });
    expect(page.items).toHaveLength(500);
    expect(page.continueToken).toBeDefined();
    const listed = await client.list<ConfigMap>(configMaps, { namespace });
    expect(listed.map((object) => object.metadata.name).toSorted()).toEqual(names.toSorted());

    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(plane.adminKubeconfigPath);
    const oracle = await kubeConfig.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace });
    expect(listed.map(shape)).toEqual(oracle.items.map(shape));
  });
});

describe('watching', () => {
  test('a watch that is aborted right after its first list ends', async () => {
    for (let round = 0; round < 10; round++) {
      const stop = new AbortController();
      await watchResource(client, namespaces, {
        signal: stop.signal,
        onEvent: () => undefined,
        onSynced: () => stop.abort(),
      });
      expect(stop.signal.aborted).toBe(true);
    }
  });

  test('events in order, with a real delete, and no connection left after the abort', async () => {
    const namespace = await aNamespace();
    await client.create(configMaps, aConfigMap(namespace, 'before'));
    const stop = new AbortController();
    const { heard, seen, say, onEvent } = listen();
    const watching = watchResource<ConfigMap>(client, configMaps, {
      namespace,
      signal: stop.signal,
      onEvent,
      onSynced: () => say('synced'),
    });
    await heard('synced');
    await client.create(configMaps, aConfigMap(namespace, 'later'));
    await client.mergePatch(configMaps, 'later', { data: { x: '1' } }, { namespace });
    await client.delete(configMaps, 'later', { namespace });
    await heard('deleted later by watch');
    expect(seen).toEqual([
      'added before',
      'synced',
      'added later',
      'changed later',
      'deleted later by watch',
    ]);
    stop.abort();
    await watching;
    client.close();
    await expect.poll(openTlsSockets).toEqual([]);
  });

  test('goes on after kill -9 of the API server, without a second list', async () => {
    const namespace = await aNamespace();
    const stop = new AbortController();
    const { heard, seen, say, onEvent } = listen();
    const watching = watchResource<ConfigMap>(client, configMaps, {
      namespace,
      signal: stop.signal,
      onEvent,
      onSynced: () => say('synced'),
      onError: () => say('error'),
    });
    await heard('synced');
    await client.create(configMaps, aConfigMap(namespace, 'a'));
    await heard('added a');
    await plane.kill('kube-apiserver');
    await heard('error');
    await plane.restart('kube-apiserver');
    await client.create(configMaps, aConfigMap(namespace, 'b'));
    await heard('added b');
    expect(seen.filter((what) => what !== 'error')).toEqual(['synced', 'added a', 'added b']);
    stop.abort();
    await watching;
  });

  test('after a gap that the server forgot, what is missing is told apart from a real delete', async () => {
    const namespace = await aNamespace();
    await client.create(configMaps, aConfigMap(namespace, 'stays'));
    await client.create(configMaps, aConfigMap(namespace, 'goes'));
    await client.create(configMaps, aConfigMap(namespace, 'comes-back'));
    const stop = new AbortController();
    const { heard, say, onEvent, seen } = listen();
    // The second watch asks for a version that no server remembers: the way a long gap looks.
    let opened = 0;
    let first: IncomingMessage | undefined;
    const forgetful: KubeClient = {
      ...client,
      openStream: async (path, options) => {
        if (++opened !== 2) {
          const stream = await client.openStream(path, options);
          first ??= stream;
          return stream;
        }
        await client.delete(configMaps, 'goes', { namespace });
        await client.delete(configMaps, 'comes-back', { namespace });
        await client.create(configMaps, aConfigMap(namespace, 'comes-back'));
        return client.openStream(path.replace(/resourceVersion=\d+/, 'resourceVersion=1'), options);
      },
    };
    const cache = createResourceCache<ConfigMap>(forgetful, configMaps, {
      namespace,
      signal: stop.signal,
      onSynced: () => say('synced'),
      onError: () => say('error'),
    });
    cache.onChange(onEvent);
    await cache.whenSynced;
    expect(cache.list()).toHaveLength(3);
    first?.destroy();
    await heard('deleted goes by relist');
    await expect.poll(() => seen.at(-1)).toBe('synced');
    expect(seen.slice(4)).toEqual([
      'error',
      'error',
      'deleted comes-back by relist',
      'added comes-back',
      'deleted goes by relist',
      'synced',
    ]);
    expect(cache.get(`${namespace}/stays`)?.metadata.name).toBe('stays');
    expect(cache.get(`${namespace}/goes`)).toBeUndefined();
    stop.abort();
    await cache.whenEnded;
  });

  test.each([
    {
      name: 'a server that is older',
      // What is left is refused by this one with the words that an older one has.
      open: (path: string, options: { signal?: AbortSignal | undefined }) =>
        client.openStream(path.replace('sendInitialEvents=true&', ''), options),
      want: ['added a', 'added b', 'synced', 'added c'],
    },
    {
      name: 'a watch that breaks off',
      open: async (path: string, options: { signal?: AbortSignal | undefined }) => {
        const stream = await client.openStream(path, options);
        for await (const line of readJsonLines(stream))
          return Object.assign(Readable.from([`${JSON.stringify(line)}\n`]), {
            statusCode: 200,
            setTimeout: () => undefined,
          });
        return stream;
      },
      want: ['added a', 'error', 'added b', 'synced', 'added c'],
    },
  ])('$name is asked for pages, and followed from there', async ({ open, want }) => {
    const namespace = await aNamespace();
    for (const name of ['a', 'b']) await client.create(configMaps, aConfigMap(namespace, name));
    const stop = new AbortController();
    const { heard, seen, say, onEvent } = listen();
    const pages: number[] = [];
    const watching = watchResource<ConfigMap>(
      {
        ...client,
        openStream: async (path, options = {}) =>
          path.includes('sendInitialEvents')
            ? ((await open(path, options)) as IncomingMessage)
            : client.openStream(path, options),
        listPage: async (resource, options) => {
          const page = await client.listPage<never>(resource, options);
          pages.push(page.items.length);
          return page;
        },
      },
      configMaps,
      { namespace, signal: stop.signal, onEvent, onSynced: () => say('synced'), onError: () => say('error') },
    );
    await heard('synced');
    await client.create(configMaps, aConfigMap(namespace, 'c'));
    await heard('added c');
    expect(seen).toEqual(want);
    expect(pages).toEqual([2]);
    stop.abort();
    await watching;
  });

  test('what is there is told by the watch itself, and nothing is listed', async () => {
    const namespace = await aNamespace();
    await client.create(configMaps, aConfigMap(namespace, 'a'));
    const stop = new AbortController();
    const { heard, seen, say, onEvent } = listen();
    const listPage = () => Promise.reject(new Error('listed'));
    const watching = watchResource<ConfigMap>({ ...client, listPage }, configMaps, {
      namespace,
      signal: stop.signal,
      onEvent,
      onSynced: (version) => say(`synced ${Number(version) > 0}`),
      onError: (error) => say(String(error)),
    });
    await heard('synced true');
    await client.delete(configMaps, 'a', { namespace });
    await heard('deleted a by watch');
    expect(seen).toEqual(['added a', 'synced true', 'deleted a by watch']);
    stop.abort();
    await watching;
  });

  test('lists again when another etcd is behind the address, however far that one has come', async () => {
    const namespace = await aNamespace();
    const stop = new AbortController();
    const { heard, seen, say, onEvent } = listen();
    await client.create(configMaps, aConfigMap(namespace, 'lost'));
    const watching = watchResource<ConfigMap>(client, configMaps, {
      labelSelector: 'of=nobody',
      signal: stop.signal,
      onEvent: () => undefined,
      onSynced: () => say('nothing to list'),
    });
    const lost = watchResource<ConfigMap>(client, configMaps, {
      fieldSelector: `metadata.namespace=${namespace}`,
      signal: stop.signal,
      onEvent,
      onSynced: () => say('synced'),
      onError: () => say('error'),
    });
    await heard('added lost');
    await heard('nothing to list');
    await plane.kill('kube-apiserver');
    await plane.kill('etcd');
    await heard('error');
    rmSync(join(stateDir, 'etcd'), { recursive: true });
    await plane.restart('etcd');
    await plane.restart('kube-apiserver');
    await heard('deleted lost by relist');
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await client.create(configMaps, aConfigMap(namespace, 'new'));
    await heard('added new');
    expect(seen.filter((what) => what !== 'error' && what !== 'nothing to list')).toEqual([
      'added lost',
      'synced',
      'deleted lost by relist',
      'synced',
      'added new',
    ]);
    stop.abort();
    await Promise.all([watching, lost]);
  });
});

test('what is changed of a policy by its status alone is told as unchanged', async () => {
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'watched' },
  };
  const text = JSON.stringify({
    ...policy,
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['example.test'], apiVersions: ['*'], operations: ['CREATE'], resources: ['gadgets'] },
        ],
      },
      validations: [{ expression: 'true' }],
    },
  });
  expect(await outcomes(text)).toEqual(['ValidatingAdmissionPolicy created']);
  const resource = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingadmissionpolicies',
    kind: policy.kind,
    namespaced: false,
  };
  const checker = createKubeClient(plane.access, { fieldManager: 'checker', userAgent: 'rollcall-test' });
  const status = { observedGeneration: 1, typeChecking: {} };
  await checker.apply(resource, { ...policy, status } as KubeObject, { subresource: 'status' });
  checker.close();
  // The API server gives it a new version; times are in seconds.
  await delay(1000);
  expect(await outcomes(text)).toEqual(['ValidatingAdmissionPolicy unchanged']);
});

test('manifests: created, unchanged, changed; a new kind can be used at once', async () => {
  const namespace = await aNamespace();
  const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.test}
spec:
  group: example.test
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`;
  const gadget = (size: string): string => `
apiVersion: example.test/v1
kind: Gadget
metadata: {name: g, namespace: ${namespace}}
spec: {${size}}
---
`;
  expect(await outcomes(`${crd}---${gadget('size: 1')}`)).toEqual([
    'CustomResourceDefinition created',
    'Gadget created',
  ]);
  expect(await outcomes(crd, gadget('size: 1'))).toEqual([
    'CustomResourceDefinition unchanged',
    'Gadget unchanged',
  ]);
  expect(await outcomes(gadget('size: 2'))).toEqual(['Gadget changed']);
  // What people change to their needs is made once.
  const once = (rules: string) =>
    `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: once, annotations: {rollcall.dev/made-once: 'true'}}\nrules: ${rules}`;
  const role = {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'clusterroles',
    kind: 'ClusterRole',
    namespaced: false,
  };
  expect(await outcomes(once('[{apiGroups: [""], resources: [pods], verbs: [get]}]'))).toEqual([
    'ClusterRole created',
  ]);
  await client.mergePatch(role, 'once', { rules: [] });
  expect(await outcomes(once('[{apiGroups: [""], resources: [pods], verbs: [get]}]'))).toEqual([
    'ClusterRole unchanged',
  ]);
  expect(await client.get(role, { name: 'once' })).not.toHaveProperty('rules.0');
  await expect(outcomes(gadget('colour: red'))).rejects.toThrow('colour');
});
