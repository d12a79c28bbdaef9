# fish completion for rlock
# Every answer comes from rlock itself: `rlock completion words WORD...`.

function __rlock_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines (command $words[1] completion words $words[2..-1] "$current" 2>/dev/null)
    set -l before (string match -r -- '^--[^=]+=' "$current"; or echo)
    switch "$lines[1]"
        case ':files'
            __fish_complete_path (string replace -- "$before" '' "$current")
        case ':command*'
            set -l begin (math (string replace ':command ' '' -- $lines[1]) + 2)
            set -l inner (string escape -- $words[$begin..-1]) "$current"
            complete -C (string join ' ' -- $inner)
        case ':words'
            for line in $lines[2..-1]
                echo -- $before$line
            end
    end
end

complete -c rlock -f -a '(__rlock_complete)'
