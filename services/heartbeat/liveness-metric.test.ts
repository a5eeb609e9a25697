import { metricCatalogue } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { livenessStates } from './cluster-table.ts';

test('the metric of clusters by liveness knows every state', () => {
  expect(metricCatalogue.rollcall_liveness_clusters.labels.state).toEqual(livenessStates);
});
