export { durationMs, formatDuration, parseDurationMs } from './duration.ts';
export { describeConfig, loadConfig, type ConfigSources } from './load-config.ts';
