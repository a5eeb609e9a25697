export { chartValues } from './agent-chart-values.ts';
export { type HubApi, hubApiOf } from './hub-api.ts';
export { findHubInfo, type HubInfo, readHubInfo } from './hub-info.ts';
export { registerCommand, shellWord } from './register-command.ts';
