export { inSpan, type Step, traceIdOf } from './in-span.ts';
