import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readForeign } from './foreign-cluster.ts';
import { foreignObjectsIn } from './read-foreign-objects.ts';
import { karmada } from './read-karmada.ts';

function readText(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-import-'));
  try {
    const path = join(folder, 'clusters.yaml');
    writeFileSync(path, text);
    return foreignObjectsIn([path], karmada);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const cluster = `apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: { name: edge-1 }
spec:
`;

test('documents are read, and empty ones are none', () => {
  const { objects } = readText(`---\n${cluster}  zones: [a]\n---\n---\n`);
  expect(objects).toMatchObject([{ metadata: { name: 'edge-1' }, spec: { zones: ['a'] } }]);
});

test('what contains itself is no YAML that could be an object', () => {
  const read = () =>
    readText(`${cluster}  taints: &all [*all]\n`).objects.map((object) => readForeign(karmada, object));
  expect(read).toThrow(expect.objectContaining({ code: 'USAGE' }));
});
