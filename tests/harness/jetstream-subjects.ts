import { hubDomain } from '@rollcall/shared/rights';

/**
 * A question to JetStream as it may be put: where the streams are, and as other accounts know them. An attack that tries one
 * of them alone would still be refused when the other is open.
 */
export const jetStreamSubjects = (question: string): readonly [string, string] => [
  `$JS.API.${question}`,
  `$JS.${hubDomain}.API.${question}`,
];
