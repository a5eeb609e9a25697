export { fenceDifferences, type FenceDifference } from './fence-differences.ts';
export { fencePolicyNames } from './policy-names.ts';
export { shippedFence } from './shipped-fence.ts';
