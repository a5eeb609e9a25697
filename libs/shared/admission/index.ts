export { admissionDifferences, type AdmissionDifference, readAdmission } from './admission-differences.ts';
export { foreignMutators } from './foreign-mutators.ts';
export { admissionPolicyNames } from './policy-names.ts';
export { shippedPolicies, shippedAttribution } from './shipped-policies.ts';
