/** Where a test asks for an API server: the path of the pool's socket. */
export const poolVariable = 'ROLLCALL_PLANE_POOL';

/** `hub`: as `rollcall up` has it, with our kinds, roles and admission policies; `member`: all of Kubernetes' kinds, and nothing of ours. */
export type PlaneKind = 'hub' | 'member';
