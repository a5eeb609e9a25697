import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { renderManifest } from './manifest.ts';

const values = {
  hub: ['a:1', 'b:2'],
  trust: { pins: [`sha256:${'0'.repeat(64)}`] },
  token: 'rc1.a.b',
  image: 'rollcall:0.1.0',
} as const;

interface Manifest {
  kind: string;
  stringData?: Record<string, string>;
}
const documentsOf = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

test('the bootstrap Secret holds what the agent needs to ask', () => {
  const secret = documentsOf(renderManifest(values)).find(({ kind }) => kind === 'Secret');
  expect(secret?.stringData).toEqual({
    hub: 'a:1,b:2',
    caBundle: '',
    caCertHash: `sha256:${'0'.repeat(64)}`,
    token: 'rc1.a.b',
    proxy: '',
    noProxy: '',
    proxyCaBundle: '',
  });
});

test('a proxy is kept where its password is safe, and names that no DNS knows are in the Pod', () => {
  const proxy = 'http://me:s3cret@proxy:3128';
  const network = { proxy, hostAliases: [{ ip: '192.0.2.7', hostnames: ['hub.example.org'] }] };
  const documents = documentsOf(renderManifest({ ...values, network }));
  const secret = documents.find(({ kind }) => kind === 'Secret');
  expect(secret?.stringData).toMatchObject({ proxy, noProxy: '', proxyCaBundle: '' });
  const others = JSON.stringify(documents.filter((document) => document !== secret));
  expect(others).not.toContain('s3cret');
  expect(others).toContain('"hostAliases":[{"ip":"192.0.2.7","hostnames":["hub.example.org"]}]');
});

test('nothing is left to be filled in, and the namespace comes before what is in it', () => {
  const text = renderManifest({ ...values, trust: { caPem: '-----BEGIN\nline\n' }, clusterName: 'edge-1' });
  const kinds = documentsOf(text).map(({ kind }) => kind);
  expect(text.replaceAll(/^\s*#.*$/gm, '')).not.toContain('${');
  expect(kinds[0]).toBe('Namespace');
  expect(kinds).toContain('Deployment');
});
