#!/bin/sh
# Opens a box with OpenSSL alone, to see that the programs here do what they say: unlock.sh KEY BOX >LETTER
# Keys stand on the command line of `openssl` meanwhile, where other users of the machine see them: for tests only.
set -eu
export OPENSSL_CONF=/dev/null

hexadecimal() {
    od -An -v -tx1 | tr -d ' \n'
}

key=$(head -c 16 "$1" | hexadecimal)
mac_key=$(tail -c 32 "$1" | hexadecimal)
made=$(head -c -32 "$2" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$mac_key" -binary | hexadecimal)
if [ "$made" != "$(tail -c 32 "$2" | hexadecimal)" ]; then
    echo "$2 is not what was locked under this key" >&2
    exit 1
fi
head -c -32 "$2" | tail -c +17 | openssl enc -d -aes-128-ctr -K "$key" -iv "$(head -c 16 "$2" | hexadecimal)"
