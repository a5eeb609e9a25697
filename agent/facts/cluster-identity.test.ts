import fc from 'fast-check';
import { isSafeId } from '@rollcall/shared/events/safe-id';
import { describe, expect, test } from 'vitest';
import { clusterNameOf } from './cluster-identity.ts';

const clusterId = '5b1c9a52-7e1f-4c6e-9a57-0d4c3a6f2b11';

describe('the name of a cluster', () => {
  test.each([
    { name: 'is what was given', source: { given: 'berlin' }, want: 'berlin' },
    {
      name: 'may say nothing if it was given',
      source: { given: 'minikube', contextCluster: 'x' },
      want: 'minikube',
    },
    {
      name: 'is made from the context',
      source: { contextCluster: 'arn:aws:eks:eu-1:42:cluster/Blue' },
      want: 'arn-aws-eks-eu-1-42-cluster-blue',
    },
    { name: 'is cut at 63', source: { contextCluster: 'a'.repeat(80) }, want: 'a'.repeat(63) },
    {
      name: 'does not end in a dash where it was cut',
      source: { contextCluster: `${'a'.repeat(62)}_b` },
      want: 'a'.repeat(62),
    },
    { name: 'comes from the id where there is no context', source: {}, want: 'cluster-5b1c9a52' },
  ])('$name', ({ source, want }) => {
    expect(clusterNameOf({ ...source, clusterId })).toBe(want);
  });

  test.each([
    { contextCluster: 'Kubernetes' },
    { contextCluster: 'default' },
    { contextCluster: '///' },
    { given: 'Ber lin' },
  ])('is refused: %o', (source) => {
    expect(() => clusterNameOf({ ...source, clusterId })).toThrow(
      expect.objectContaining({ code: 'CLUSTER_NAME_INVALID' }),
    );
  });

  test('is a safe id or refused, whatever the context is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (contextCluster) => {
        let name: string;
        try {
          name = clusterNameOf({ contextCluster, clusterId });
        } catch {
          return;
        }
        expect(isSafeId(name)).toBe(true);
      }),
    );
  });
});
