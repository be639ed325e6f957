# graphcred completion for bash; add to ~/.bashrc: source <(graphcred completion bash)
_graphcred() {
  # COMP_WORDS are split at = and : too.
  local words last found
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}."
  last=${words[${#words[@]}-1]%.}
  found=$(graphcred __complete "${words[@]:1:${#words[@]}-2}" "$last" 2>/dev/null | cut -f1)
  COMPREPLY=()
  if [ "$found" = :file ]; then compopt -o default 2>/dev/null
  else
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$found" -- "$last"))
    [[ $last == *=* ]] && COMPREPLY=("${COMPREPLY[@]#*=}")
  fi
}
complete -F _graphcred graphcred
