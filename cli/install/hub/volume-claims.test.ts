import { expect, test } from 'vitest';
import { hubObjects } from './hub-objects.ts';
import { hubValuesSchema } from './hub-values.ts';
import { volumeClaimsOf } from './volume-claims.ts';

const claimsWith = (values: object) =>
  hubObjects(hubValuesSchema.parse(values))
    .filter(({ kind }) => kind === 'StatefulSet')
    .flatMap((servers) => volumeClaimsOf(servers as Parameters<typeof volumeClaimsOf>[0]));

const shown = ({ metadata, spec }: ReturnType<typeof volumeClaimsOf>[number]) => ({ metadata, spec });
const metadataOf = (ordinal: number) => ({
  name: `data-rollcall-nats-${ordinal}`,
  namespace: 'rollcall-system',
  labels: { 'app.kubernetes.io/name': 'rollcall-nats' },
});

test('a claim for each server, by the name and with the labels that Kubernetes gives it', () => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } };
  expect(claimsWith({ nats: { storage: '3Gi' } }).map(shown)).toEqual([{ metadata: metadataOf(0), spec }]);
  const three = claimsWith({
    hub: { servers: 3 },
    nats: { storage: '3Gi', storageClassName: 'fast' },
  }).map(shown);
  expect(three).toEqual(
    [0, 1, 2].map((ordinal) => ({
      metadata: metadataOf(ordinal),
      spec: { ...spec, storageClassName: 'fast' },
    })),
  );
});
