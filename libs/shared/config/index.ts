export { parseBoundedYaml, yamlTooDeep } from './bounded-yaml.ts';
export { durationMs, formatDuration, parseDurationMs } from './duration.ts';
export { describeConfig, loadConfig, type ConfigSources } from './load-config.ts';
