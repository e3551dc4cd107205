import type { Command } from '../../cli/command.ts'
import { didYouMean } from '../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'

/**
 * Each asks `gavel complete` with the words up to the cursor, and evaluates none of them. Of its lines the line `:files`
 * asks for the shell's own files, the others are a word, a tab, and what it does.
 */
const SCRIPTS = {
  bash: `_gavel() {
  local line files=
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then files=1; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ -z "$files" ]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _gavel gavel`,
  zsh: `#compdef gavel
_gavel() {
  local line files=
  local -a found
  while IFS= read -r line; do
    if [[ "$line" == ":files" ]]; then files=1; else found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}"); fi
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && _describe gavel found
  [[ -n "$files" ]] && _files
}
if [[ "\${funcstack[1]}" == "_gavel" ]]; then _gavel "$@"; else compdef _gavel gavel; fi`,
  fish: `function __gavel_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c gavel -f -a '(__gavel_complete)'`,
} as const
const SHELLS = Object.keys(SCRIPTS)

/** `gavel completion`: the script by which a shell completes what is begun behind `gavel`. */
export const command: Command<object, string> = {
  options: [],
  json: false,
  help: [
    'Set it up once:',
    '  bash:  gavel completion bash >> ~/.bashrc',
    '  zsh:   gavel completion zsh > _gavel, in a folder of $fpath',
    '  fish:  gavel completion fish > ~/.config/fish/completions/gavel.fish',
    'or for the current shell only, in bash:  source <(gavel completion bash)',
    'Completion needs "gavel" on the PATH: after "npm install --global", or in a project after',
    '  export PATH="$PWD/node_modules/.bin:$PATH"',
    '"npx gavel" is not completed.',
  ].join('\n'),
  async run({ args: [wanted = ''] }) {
    const found = Object.entries(SCRIPTS).find(([shell]) => shell === wanted)
    if (found === undefined)
      throw new OperatorError(`Shells that can be completed are ${SHELLS.join(', ')}.${didYouMean(wanted, SHELLS)}`)
    return found[1]
  },
  print: (script, { terminal }) => terminal.out(script),
}
