# bash completion for sooth(1). It asks the program for passes, networks of the zoo and GPUs.

_sooth_names() { # the first words of the lines below the heading $1 in the help
    "${COMP_WORDS[0]}" inspect --help 2>/dev/null | sed -n "/^$1/,/^\$/s/^  \\([^ ]*\\).*/\\1/p"
}

_sooth_networks() {
    "${COMP_WORDS[0]}" zoo 2>/dev/null | sed -n 's/^  zoo:\([^ ]*\).*/\1/p'
}

_sooth_gpus() {
    "${COMP_WORDS[0]}" gpus --format csv 2>/dev/null | sed '1d;s/,.*//'
}

_sooth() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options command=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "inspect predict train-phase measure choose survey nas sweep dataset mig eval learn gnn convert serve gpus zoo --help --version" -- "$current")
        return
    fi
    # '=' and ':' are words of their own for bash.
    if [ "$current" = "=" ]; then
        current=
    elif [ "$previous" = "=" ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$current" = ":" ] && [ "$previous" = zoo ]; then
        mapfile -t COMPREPLY < <(_sooth_networks)
        return
    elif [ "$previous" = ":" ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = zoo ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sooth_networks)" -- "$current")
        return
    fi
    case $previous in
    -f | --format)
        local formats="table json csv dot svg"
        [[ $command != gpus && $command != choose && $command != train-phase && $command != measure ]] || formats="table json csv"
        [ "$command" != predict ] || formats="table json csv trace html memory-svg"
        [[ $command != eval && $command != zoo ]] || formats="table json"
        [ "$command" != sweep ] || formats="table json html"
        [ "$command" != dataset ] || formats="table json csv jsonl npz"
        [ "$command" != gnn ] || formats="table json csv"
        [ "$command" != mig ] || formats="table json csv svg mig-parted"
        [[ $command != survey && $command != nas ]] || formats="table json csv html"
        mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$current")
        return
        ;;
    --skip | --fuse)
        local before= heading=Recovery
        [ "$previous" = --skip ] || heading=Optional
        case $current in *,*) before=${current%,*}, ;; esac
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(_sooth_names $heading) all" -- "${current##*,}")
        return
        ;;
    --gpu)
        local first=
        case $current in *,*) first=${current%,*}, ;; esac
        mapfile -t COMPREPLY < <(
            compgen -P "$first" -W "$(_sooth_gpus)" -- "${current##*,}"
            compgen -f -X '!*.txt' -- "$current"
        )
        return
        ;;
    --precision | --layout | --runtime | --mode | --optimizer)
        local names
        case $previous in
        --precision) names="fp32 tf32 fp16 bf16 amp amp-fp16 amp-bf16 int8 fp8 int4" ;;
        --layout) names="nchw nhwc" ;;
        --runtime) names="eager inductor engine" ;;
        --mode) names="infer train train-forward" ;;
        --optimizer) names="sgd-momentum sgd sgd-nesterov adam adamw adam-l2 none" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
        return
        ;;
    --by)
        local listed=
        case $current in *,*) listed=${current%,*}, ;; esac
        mapfile -t COMPREPLY < <(
            compgen -P "$listed" -W "gpu family precision source stack runtime mode layout mig" -- "${current##*,}"
        )
        return
        ;;
    -o | --output | --queries | --weights | --predictions)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --mig | --latency-ms | --gpus | --time-limit | --batch | --dim | --seq | --past | --shape | --top | --depth | --stack | --power-limit | --co2 | --sample | --left-share | --epochs | --seed | --rate | --networks | --operators | --patience | --leave-*)
        return
        ;;
    esac
    case $command in
    inspect) options="--batch --dim --seq --past --shape --skip --fuse --format --values --top --depth --strict --output --help" ;;
    predict)
        options="--gpu --batch --dim --seq --past --shape --precision --layout --runtime --mode --optimizer --stack --mig --host --cuda-graphs --power-limit --co2 --context --kv-cache --interval --layers --kernels --memory --fits --largest-batch --by-estimate"
        options+=" --format --queries --weights --output --help"
        ;;
    serve) options="--port --bind --max-mib --keep-mib --threads --page --quiet --help" ;;
    measure)
        options="--batch --dim --seq --past --shape --skip --fuse --library --threads --warmup --repeat --images --workers --compare --host --new-data --load"
        options+=" --save --layers --format --output --help"
        ;;
    train-phase)
        options="--gpu --batch --dim --seq --past --shape --precision --layout --runtime --optimizer --stack --library --host --hosts --data"
        options+=" --workers --pin --no-overlap --accumulate --checkpoint --checkpoint-modules --layers --format --weights --output --help"
        ;;
    choose)
        options="--latency-ms --throughput --gpu --no-slices --most-batch --epoch --dim --seq --past --shape --precision --layout --runtime --mode"
        options+=" --optimizer --stack --price --format --weights --output --help"
        ;;
    nas)
        options="--gpu --batch --precision --layout --runtime --mode --stack --latency-ms --memory-mib --energy-j --accuracy --measured"
        options+=" --evaluate --results --jobs --search --prune --trials --seed --repeat --within --top --format --queries --weights --output --help"
        ;;
    survey) options="--gpu --batch --precision --layout --runtime --mode --optimizer --stack --memory --accuracy --format --weights --output --help" ;;
    sweep)
        options="--gpu --slice --precision --layout --runtime --mode --optimizer --stack --memory --format --report --weights --output --help"
        ;;
    dataset)
        options="--plan --seed --gpu --batch --labels --precision --layout --runtime --mode --optimizer --stack --format --weights --output --help"
        ;;
    mig)
        options="--gpu --latency-ms --batch --dim --seq --past --shape --precision --layout --runtime --mode --optimizer --stack --rule --gnn --gpus --time-limit"
        options+=" --format --weights --output --help"
        ;;
    eval) options="--by --format --predictions --sample --left-share --weights --output --help" ;;
    learn)
        options="--output --epochs --seed --rate --networks --operators --patience --leave-gpus --leave-families --leave-share"
        options+=" --apart --energy --slices --quiet --help"
        ;;
    gnn)
        options="--output --model --node-features --hidden --epochs --batch-size --rate --schedule --dropout --huber --seed --split --apart --test --gpu"
        options+=" --part --graphs --batch --dim --seq --past --shape --precision --layout --runtime --mode --stack --format --quiet --help"
        ;;
    convert) options="--output --help" ;;
    gpus | zoo) options="--format --output --help" ;;
    *) return ;;
    esac
    if [ "$command" = gpus ] && [ "${current#-}" = "$current" ]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$(_sooth_gpus)" -- "$current"
            compgen -f -X '!*.txt' -- "$current"
        )
        return
    fi
    if [ "$command" = zoo ] && [ "${current#-}" = "$current" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sooth_networks)" -- "$current")
        return
    fi
    if [[ $command == eval || $command == learn ]] && [ "${current#-}" = "$current" ]; then
        mapfile -t COMPREPLY < <(
            compgen -d -S / -- "$current"
            compgen -f -X '!*.csv?(.gz)' -- "$current"
        )
        return
    fi
    case $current in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
    z*) mapfile -t COMPREPLY < <(
        compgen -P zoo: -W "$(_sooth_networks)" -- "${current#zoo:}"
        compgen -f -- "$current"
    ) ;;
    *) mapfile -t COMPREPLY < <(
        compgen -d -S / -- "$current"
        compgen -f -X '!*.onnx?(.gz)' -- "$current"
    ) ;;
    esac
}

complete -o filenames -F _sooth sooth
