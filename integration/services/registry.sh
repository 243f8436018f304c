#!/usr/bin/env bash
# Runs one schema registry (Apicurio, with Confluent's REST API) on loopback.
#
#   registry.sh install            only fills the cache
#   registry.sh start DIR PORT     data, log and pid in DIR; prints the URL to use
#   registry.sh stop|status DIR
#
# The server comes from Maven once, into the cache. REGISTRY_HEAP picks another
# heap. A later start on the same DIR keeps its schemas.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

version=2.6.13.Final
app=$CACHE/apicurio-$version

fetch_app() {
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all" \
        -DoutputDirectory="$1" >&2
    tar xzf "$1/apicurio-registry-app-$version-all.tar.gz" -C "$1"
    rm "$1/apicurio-registry-app-$version-all.tar.gz"
}

install() { install_once "$app" fetch_app; }

start() {
    local dir=$1 port=$2 url=http://127.0.0.1:$2/apis/ccompat/v7
    REGISTRY_DATASOURCE_URL=jdbc:h2:file:$dir/registry \
        launch "$dir" "${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx"${REGISTRY_HEAP:-384m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dquarkus.http.host=127.0.0.1 -Dquarkus.http.port="$port" -jar "$app/apicurio-registry-app-$version-runner.jar"
    wait_until "$dir" 120 curl -fsS --noproxy '*' "$url/subjects"
    echo "$url"
}

main "$@"
