export { publicHostPattern } from './public-host.ts';
export { parseBoundedYaml, yamlTooDeep } from './bounded-yaml.ts';
export { commaSeparated } from './comma-separated.ts';
export {
  credentialLifeMs,
  longestCredentialLifeMs,
  revocationsCoverMs,
  usualMemberLifeMs,
} from './credential-life.ts';
export { durationMs, periodMs } from './duration-schema.ts';
export { formatDuration, parseDurationMs } from './duration.ts';
export { describeConfig, loadConfig, type ConfigSources } from './load-config.ts';
export { yesOrNo } from './yes-or-no.ts';
