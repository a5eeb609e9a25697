export { fenceDifferences, type FenceDifference, readFence } from './fence-differences.ts';
export { foreignMutators } from './foreign-mutators.ts';
export { fencePolicyNames } from './policy-names.ts';
export { shippedFence, shippedStamps } from './shipped-fence.ts';
