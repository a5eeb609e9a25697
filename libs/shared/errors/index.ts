export { errorCatalogue, type ErrorCode } from './catalogue.ts';
export { isErrorCode, RollcallError, toRollcallError } from './rollcall-error.ts';
