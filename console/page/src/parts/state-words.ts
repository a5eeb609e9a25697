import type { ClusterState } from '../../../rows/index.ts';

/** As people say the states, and as the filter takes them. */
export const stateWords: Readonly<Record<ClusterState, string>> = {
  ready: 'Ready',
  unknown: 'Unknown',
  notReady: 'Not Ready',
  expected: 'Not heard yet',
  out: 'Out',
};

const formatter = new Intl.NumberFormat('en');
export const numberText = (number: number): string => formatter.format(number);
export const counted = (number: number, one: string, more = `${one}s`): string =>
  `${numberText(number)} ${number === 1 ? one : more}`;
