#!/usr/bin/env bash
# Builds what reads our tables beside ourselves, once, into the cache.
#
#   build.sh java      paimon-verify, the real Paimon; prints the path of its jar
#   build.sh python    a venv with pypaimon, pypaimon-rust, pyarrow; prints its python
#
# PAIMON_VERSION picks another Paimon for java.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../services/common.sh"

build_java() {
    local sources
    mapfile -t sources < <(find "$here/java" -name '*.java' -o -name pom.xml | sort)
    local version=${PAIMON_VERSION:-1.3.1} out
    out=$CACHE/paimon-verify-$version-$(fingerprint "${sources[@]}")
    install_once "$out" package_java "$version"
    echo "$out/paimon-verify.jar"
}

package_java() { mvn -q -B -f "$here/java/pom.xml" -Dpaimon.version="$1" -Dout="$2" package >&2; }

build_python() {
    local venv
    venv=$CACHE/python-$(fingerprint "$here/python/requirements.txt")
    # A venv knows its own path, so it is made in place; the mark says that it is whole.
    install_once "$venv.ready" make_venv "$venv"
    echo "$venv/bin/python"
}

make_venv() {
    rm -rf "$1"
    python3 -m venv "$1" >&2
    "$1/bin/python" -m pip install -q --disable-pip-version-check -r "$here/python/requirements.txt" >&2
    touch "$2"
}

case ${1:-} in
    java) build_java ;;
    python) build_python ;;
    *) sed -n '2,/^[^#]/{s/^# \{0,1\}//p;s/^#$//p}' "$0" >&2; exit 2 ;;
esac
