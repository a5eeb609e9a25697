import { metricCatalogue } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { mostParts } from '../members/heartbeat-partition.ts';
import { livenessStates } from './cluster-table.ts';

test('the metric of clusters by liveness knows every state', () => {
  expect(metricCatalogue.rollcall_liveness_clusters.labels.state).toEqual(livenessStates);
});

test.each(['rollcall_liveness_clusters', 'rollcall_heartbeats_total'] as const)(
  '%s knows every part',
  (name) => {
    const { part, of } = metricCatalogue[name].labels;
    expect([part[0], part.at(-1), part.length]).toEqual(['0', String(mostParts - 1), mostParts]);
    expect([of[0], of.at(-1), of.length]).toEqual(['1', String(mostParts), mostParts]);
  },
);
