import { Command, Option } from 'commander';
import type { ServableService } from './service-modules.ts';

export interface ServeFlags {
  readonly config: string | undefined;
  readonly check: boolean;
  /** By flag name, as `loadConfig` takes them. */
  readonly settings: Readonly<Record<string, string | undefined>>;
}

/**
 * The flags of one service, made from its schema.
 * @throws CommanderError for unknown flags and for `--help`, after printing
 */
export function parseServeFlags(
  name: string,
  service: Pick<ServableService, 'settings'>,
  args: readonly string[],
): ServeFlags {
  const command = new Command(`rollcall serve ${name}`)
    .exitOverride()
    .showHelpAfterError('hint: Run the same command with --help to see what it takes.')
    .description(
      `Run the service ${name}. Flags win over variables, variables over the file, the file over defaults.`,
    )
    .option('--config <file>', 'YAML file with the settings below, in camelCase')
    .option('--check', 'check the settings and stop');
  const options = service.settings.map(({ flag, variable, description }) => ({
    flag,
    option: new Option(`--${flag} <value>`, `${description} [${variable}]`),
  }));
  for (const { option } of options) command.addOption(option);
  command.parse([...args], { from: 'user' });
  const given = command.opts<Record<string, string | undefined> & { check?: true }>();
  return {
    config: given['config'],
    check: given.check === true,
    settings: Object.fromEntries(options.map(({ flag, option }) => [flag, given[option.attributeName()]])),
  };
}
