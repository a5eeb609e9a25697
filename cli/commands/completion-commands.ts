import { Argument, type Command } from 'commander';
import { type Shell, shells, shellScripts } from '../completion/shell-scripts.ts';

const examples = `
Examples:
  source <(rollcall completion bash)          in ~/.bashrc
  source <(rollcall completion zsh)           in ~/.zshrc, after compinit
  rollcall completion fish | source           in ~/.config/fish/config.fish

\`kubectl rollcall\` completes as well, where kubectl's own completion is loaded and \`kubectl-rollcall\` and
\`kubectl_complete-rollcall\` are on PATH.`;

export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .description('print what a shell reads to complete commands, flags and the names on the hub')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', examples)
    .action((shell: Shell) => void process.stdout.write(shellScripts[shell]));
}
