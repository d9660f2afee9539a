#!/bin/sh
# Makes projects of services that the JDK has, too, and compares calls of both; see Models.java.
#   run.sh HEADRACE [--seed N] [--sequences N] [--seconds N] [--service NAME]
# MODEL_SETS names other parameter sets, PROJECTS a folder of projects that are compiled already.
set -eu
headrace=$1
shift
if ! command -v javac >/dev/null 2>&1 || ! command -v make >/dev/null 2>&1; then
    echo "not run: no JDK, or no make"
    exit 4
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quick="-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC"
classes=$work/models
if [ -z "${PROJECTS:-}" ]; then
    PROJECTS=$work/projects
    for set in ${MODEL_SETS:-aes128 aes128-gcm chacha20 chacha20-poly1305 des hmac-sha256 sha256 tdes}; do
        "$headrace" build "$set" --unfused --target java -o "$PROJECTS/$set" >/dev/null
        make -s -C "$PROJECTS/$set" JAVAC="javac $quick" build/compiled
    done
fi
for project in "$PROJECTS"/*; do
    classes=$classes:$project/build/classes
done
# shellcheck disable=SC2086 # several flags
javac $quick -Xlint:all -Werror -d "$work/models" "$here"/*.java
java -XX:+UseSerialGC -cp "$classes" models.Models --differences "$here/../../../runtime/java/differences.txt" "$@"
