import type { Invocation } from '../command.js';
import { COMPLETE } from '../context.js';

// Each script asks graphcred itself for the candidates, so the scripts never go out of date.
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# graphcred completion for bash; add to ~/.bashrc: source <(graphcred completion bash)
_graphcred() {
  # COMP_WORDS are split at = and : too.
  local words last found
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}."
  last=\${words[\${#words[@]}-1]%.}
  found=$(graphcred ${COMPLETE} "\${words[@]:1:\${#words[@]}-2}" "$last" 2>/dev/null | cut -f1)
  COMPREPLY=()
  if [ "$found" = :file ]; then compopt -o default 2>/dev/null
  else
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "$found" -- "$last"))
    [[ $last == *=* ]] && COMPREPLY=("\${COMPREPLY[@]#*=}")
  fi
}
complete -F _graphcred graphcred
`,
  zsh: `#compdef graphcred
# graphcred completion for zsh; add to ~/.zshrc after compinit: source <(graphcred completion zsh)
_graphcred() {
  local -a found described
  local line
  found=("\${(@f)$(graphcred ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if [[ "$found" == :file ]]; then
    _files
  else
    for line in $found; do described+=("\${line/$'\\t'/:}"); done
    _describe graphcred described
  fi
}
if [ "$funcstack[1]" = "_graphcred" ]; then _graphcred "$@"; else compdef _graphcred graphcred; fi
`,
  fish: `# graphcred completion for fish; save as ~/.config/fish/completions/graphcred.fish
function __graphcred_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (graphcred ${COMPLETE} $words[2..-1] "$current" 2>/dev/null)
    if test "$found" = :file
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c graphcred -f -a '(__graphcred_complete)'
`,
  powershell: `# graphcred completion for PowerShell; add to $PROFILE: graphcred completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName graphcred -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  # An empty last word is written as a quoted pair of quotes, which every version passes on.
  $last = if ($wordToComplete -eq '') { if ($PSVersionTable.PSVersion -ge [version]'7.3') { '' } else { '""' } } else { $wordToComplete }
  # With no answer PowerShell offers files.
  graphcred ${COMPLETE} @words $last 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
    $word, $text = $_ -split "\`t", 2
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $(if ($text) { $text } else { $word }))
  }
}
`,
};

export async function execute({ args, ctx }: Invocation): Promise<undefined> {
  const [shell] = args;
  ctx.stdout.write(SCRIPTS[shell === 'pwsh' ? 'powershell' : (shell as string)] as string);
}
