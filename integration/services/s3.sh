#!/usr/bin/env bash
# Runs one S3 server with its data on disk, on loopback.
#
#   s3.sh install            only fills the cache
#   s3.sh start DIR PORT     data, log and pid in DIR; prints the endpoint
#   s3.sh stop|status DIR
#
# S3_SERVER picks the server: minio (default) or versitygw. Either is built
# from its Go module once, into the cache. The keys are AWS_ACCESS_KEY_ID and
# AWS_SECRET_ACCESS_KEY, testkey and testsecret unless set. S3_TLS_DIR, a
# directory with server.crt and server.key, makes it speak HTTPS.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

server=${S3_SERVER:-minio}
key=${AWS_ACCESS_KEY_ID:-testkey}
secret=${AWS_SECRET_ACCESS_KEY:-testsecret}
case $server in
    minio) module=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c ;;
    versitygw) module=github.com/versity/versitygw/cmd/versitygw@v1.8.0 ;;
    *) echo "s3.sh: S3_SERVER is minio or versitygw" >&2; exit 2 ;;
esac
bin=$CACHE/$server-${module#*@}

# Built outside any module, so that the project's own go.mod has no say.
build() {
    GOBIN="$1.d" CGO_ENABLED=0 go -C / install -trimpath -ldflags '-s -w' "$module" >&2
    mv "$1.d/$server" "$1"
    rmdir "$1.d"
}

install() { install_once "$bin" build; }

start() {
    local dir=$1 addr=127.0.0.1:$2 url=http://127.0.0.1:$2 tls=()
    [[ -z ${S3_TLS_DIR:-} ]] || url=https://$addr
    mkdir -p "$dir/data"
    case $server in
        minio)
            if [[ -n ${S3_TLS_DIR:-} ]]; then
                mkdir -p "$dir/certs"
                cp "$S3_TLS_DIR/server.crt" "$dir/certs/public.crt"
                cp "$S3_TLS_DIR/server.key" "$dir/certs/private.key"
                tls=(--certs-dir "$dir/certs")
            fi
            MINIO_ROOT_USER=$key MINIO_ROOT_PASSWORD=$secret MINIO_BROWSER=off MINIO_UPDATE=off \
                launch "$dir" "$bin" server --quiet --address "$addr" "${tls[@]}" "$dir/data"
            wait_until "$dir" 60 curl -fsSk --noproxy '*' "$url/minio/health/ready"
            ;;
        versitygw)
            mkdir -p "$dir/iam" "$dir/meta"
            if [[ -n ${S3_TLS_DIR:-} ]]; then tls=(--cert "$S3_TLS_DIR/server.crt" --key "$S3_TLS_DIR/server.key"); fi
            ROOT_ACCESS_KEY=$key ROOT_SECRET_KEY=$secret \
                launch "$dir" "$bin" --port "$addr" --health /health "${tls[@]}" posix "$dir/data"
            wait_until "$dir" 60 curl -fsSk --noproxy '*' "$url/health"
            ;;
    esac
    echo "$addr"
}

main "$@"
