#!/usr/bin/env bash
# Stops services when whoever started them is gone, however it ended.
#
#   guard.sh    reads the folders of services, a line each, until its input ends; then stops them all
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

trap '' INT TERM HUP
mapfile -t folders
for folder in "${folders[@]}"; do stop "$folder" & done
wait
