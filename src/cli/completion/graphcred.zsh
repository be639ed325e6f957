#compdef graphcred
# graphcred completion for zsh; add to ~/.zshrc after compinit: source <(graphcred completion zsh)
_graphcred() {
  local -a found described
  local line
  found=("${(@f)$(graphcred __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(${found:#})
  if [[ "$found" == :file ]]; then
    _files
  else
    for line in $found; do described+=("${line/$'\t'/:}"); done
    _describe graphcred described
  fi
}
if [ "$funcstack[1]" = "_graphcred" ]; then _graphcred "$@"; else compdef _graphcred graphcred; fi
