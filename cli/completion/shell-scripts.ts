export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

const bash = `# rollcall completion for bash. Load it with: source <(rollcall completion bash)
_rollcall() {
  local out line directive
  COMPREPLY=()
  out=$(rollcall __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
  directive=\${out##*:}
  while IFS= read -r line; do
    [[ $line == :[0-9]* ]] && continue
    COMPREPLY+=("\${line%%$'\\t'*}")
  done <<< "$out"
  if [[ $directive == 0 && \${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _rollcall rollcall
`;

const zsh = `#compdef rollcall
# rollcall completion for zsh. Load it with: source <(rollcall completion zsh)
_rollcall() {
  local out line directive
  local -a lines candidates
  out=$(rollcall __complete "\${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
  lines=("\${(@f)out}")
  directive=\${lines[-1]#:}
  for line in "\${(@)lines[1,-2]}"; do
    [[ -z $line ]] && continue
    if [[ $line == *$'\\t'* ]]; then
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    else
      candidates+=("\${line//:/\\\\:}")
    fi
  done
  # Of --flag=value, only the value is completed.
  [[ $PREFIX == --*=* ]] && compset -P '*='
  if (( \${#candidates} )); then
    _describe 'rollcall' candidates
  elif [[ $directive == 0 ]]; then
    _files
  fi
}
compdef _rollcall rollcall
`;

const fish = `# rollcall completion for fish. Load it with: rollcall completion fish | source
function __rollcall_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l typed (commandline -ct)[1]
    set -l lines (rollcall __complete $words "$typed" 2>/dev/null)
    test (count $lines) -gt 0; or return
    # Of --flag=value, only the value is completed, and fish wants the whole word.
    set -l flag (string match -r -- '^--[^=]*=' "$typed")
    if test "$lines[-1]" = ':0' -a (count $lines) -eq 1
        set lines (__fish_complete_path (string replace -- "$flag" '' "$typed")) ''
    end
    test (count $lines) -gt 1; or return
    for line in $lines[1..-2]
        echo "$flag$line"
    end
end
complete -c rollcall -f -a '(__rollcall_complete)'
`;

/** What a shell reads to complete \`rollcall\`; all of the knowledge is in \`rollcall __complete\`. */
export const shellScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
