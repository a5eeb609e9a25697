export { chartValues } from './chart-values.ts';
export { findHubInfo, type HubInfo, readHubInfo } from './hub-info.ts';
export { registerCommand, shellWord } from './register-command.ts';
