# fish completion for rlock
# Every answer comes from rlock itself: `rlock completion words WORD...`.

# A word without its quotes, whether the last of them is closed yet or not.
function __rlock_plain
    for quote in '' "'" '"'
        string unescape -- "$argv[1]$quote"; and return
    end
    echo -- "$argv[1]"
end

function __rlock_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l plain (__rlock_plain "$current")
    set words[1] (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l lines (command $words[1] completion words $words[2..-1] "$plain" 2>/dev/null)
    set -l before (string match -r -- '^--[^=]+=' "$plain"; or echo)
    switch "$lines[1]"
        case ':files'
            for path in (__fish_complete_path (string replace -- "$before" '' "$plain"))
                echo -- $before$path
            end
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
