import type { ServiceName } from '@rollcall/shared/rights';

/** One metric: everything that its exposition, its counting points and its documentation are made of. */
export interface MetricDefinition {
  /** In seconds and bytes, as the name says; `info` is a constant 1 whose labels say something. */
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info';
  readonly help: string;
  readonly services: readonly ServiceName[];
  /**
   * Each label with all its values: never a cluster's name, nor anything that an agent chose. Any other value is counted as
   * `other`, so that the number of series is bounded by this table.
   */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Upper bounds of a histogram's buckets, rising; +Inf comes by itself. */
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, MetricDefinition>>;

/** Work inside one process or one round trip. */
export const shortSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A registration: tens of milliseconds by policy, a day by a person. */
export const longSeconds = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 21_600, 86_400];

/** Who let a cluster in: a person's minutes must not spoil the machine's milliseconds. */
export const deciders = ['policy', 'policy-later', 'person'] as const;
