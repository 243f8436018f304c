# shellcheck shell=bash
# Sourced by the service scripts: one service is one process, its pid in DIR/pid.

# shellcheck disable=SC2034 # for the scripts that source this
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/sink-services

die() { echo "${0##*/}: $*" >&2; exit 1; }

# install_once PATH COMMAND...: unless PATH is there, have COMMAND make it (the
# path to fill is its last argument). A second caller waits for the first.
install_once() {
    local path=$1; shift
    mkdir -p "${path%/*}"
    (
        flock 9
        [[ -e $path ]] && exit
        rm -rf "$path.part"
        "$@" "$path.part"
        mv "$path.part" "$path"
    ) 9>"$path.lock"
}

# fingerprint FILE...: a short hash of their contents, so that an edited source
# gets a place of its own in the cache.
fingerprint() { cat "$@" | sha256sum | cut -c1-12; }

# running DIR: true while the recorded process lives and is still the one we
# started (its start time guards against a reused pid).
running() {
    local pid started
    read -r pid started 2>/dev/null <"$1/pid" && [[ -n $started && $(start_time "$pid") == "$started" ]]
}

# start_time PID: field 22 of its stat; nothing for a process that has ended.
start_time() {
    local s
    s=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    # shellcheck disable=SC2086 # split on purpose
    set -- ${s##*) }
    [[ $1 == [ZX] ]] || echo "${20}"
}

# port_free PORT: dies unless nothing listens there, lest we take another
# process's answers for our own service's.
port_free() {
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then die "port $1 is taken"; fi
}

# launch DIR COMMAND...: run COMMAND detached, its output in DIR/log.
launch() {
    local dir=$1; shift
    setsid "$@" </dev/null >"$dir/log" 2>&1 &
    echo "$! $(start_time $!)" >"$dir/pid"
}

# wait_until DIR SECONDS COMMAND...: wait for COMMAND to succeed while the
# service lives; on failure show the end of its log.
wait_until() {
    local dir=$1 deadline=$((SECONDS + $2)); shift 2
    until "$@" >/dev/null 2>&1; do
        if ! running "$dir" || ((SECONDS >= deadline)); then
            tail -n 30 "$dir/log" >&2
            stop "$dir"
            die "did not get ready"
        fi
        sleep 0.1
    done
}

# stop DIR: TERM, then KILL after 30 s. Fine when nothing runs.
stop() {
    local pid i
    if running "$1"; then
        read -r pid _ <"$1/pid"
        kill "$pid"
        for ((i = 0; i < 300; i++)); do running "$1" || break; sleep 0.1; done
        if running "$1"; then kill -9 "$pid"; fi
    fi
    rm -f "$1/pid"
}

status() {
    if running "$1"; then echo "running, pid $(cut -d' ' -f1 "$1/pid")"; else echo "not running"; return 3; fi
}

# main COMMAND [DIR [PORT]]: the command line of a service script. Its function
# install fills the cache; its function start gets DIR (made absolute) and PORT.
main() {
    local dir
    [[ $# -eq 1 && $1 == install ]] && { install; return; }
    [[ $# -ge 2 ]] || usage
    dir=$(realpath -m "$2")
    case $1 in
        start)
            [[ $# -eq 3 ]] || usage
            running "$dir" && die "already running in $dir"
            port_free "$3"
            install
            mkdir -p "$dir"
            start "$dir" "$3"
            ;;
        stop) stop "$dir" ;;
        status) status "$dir" ;;
        *) usage ;;
    esac
}

# usage: print the comment at the head of the script.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;s/^#$//p}' "$0" >&2; exit 2; }
