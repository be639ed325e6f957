# graphcred completion for fish; save as ~/.config/fish/completions/graphcred.fish
function __graphcred_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (graphcred __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$found" = :file
        __fish_complete_path "$current"
    else
        printf '%s\n' $found
    end
end
complete -c graphcred -f -a '(__graphcred_complete)'
