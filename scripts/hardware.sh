#!/bin/sh
# Measures generated cores beside those of bench/rtl, which were written by hand: scripts/hardware.sh HEADRACE SEEDS FILE.json [CORE]...
# The core xls is what Google XLS makes of bench/xls; it needs a PYTHON with xls-python, and an iverilog that counts its cycles.
# Both of a pair go through one run, with the same passes and seeds. What was measured before is kept in FILE.json, and steps whose
# input is the same are not done again.
set -eu

headrace=$1 seeds=$2 results=$3
shift 3
devices=${DEVICES:-ecp5,xc7-estimate}
cores=${*:-aes sha256 des ascon keccak chacha20 whirlpool aes-pipelined}

pair() { # OURS FOLDER OPTION...
    ours=$1 folder=$2
    shift 2
    "$headrace" synth "$ours" ${folder:+"bench/rtl/$folder" --like "$ours"} --wide-ports --device "$devices" --seeds "$seeds" \
        --jobs "${JOBS:-1}" --json "$results" --add "$@"
}

for core in $cores; do
    case $core in
    aes) pair aes128 aes_encrypt --operation encrypt --simulate ;;
    des) pair des des_encrypt --operation encrypt ;;
    sha256) pair 'ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)' sha256_compression --block 'State=*8' --block 'Block=*64' ;;
    ascon) pair 'ctl.parts.ascon.AsconP()' ascon_p --block Rounds=12 --block 'Input=*5' ;;
    keccak) pair 'ctl.parts.keccak.KeccakP()' keccak_p --block Rounds=24 --block 'Input=*25' ;;
    chacha20) pair 'ctl.stream.chacha20.ChaCha20Block(STAGES = 1)' '' --bits 512 --cycles 21 ;;
    whirlpool)
        pair 'ctl.hash.whirlpool.WhirlpoolCompression(Substitution = ctl.hash.whirlpool.SubBytes)' '' \
            --block 'State=*64' --block 'Block=*64'
        ;;
    aes-pipelined) pair aes128 '' --operation encrypt --stages 10 ;;
    xls)
        "${PYTHON:-python3}" scripts/peers-xls.py target/xls
        for peer in aes128:128:11 sha256:512:66; do
            name=${peer%%:*} figures=${peer#*:}
            "$headrace" synth "target/xls/$name" --bits "${figures%:*}" --cycles "${figures#*:}" --device "$devices" \
                --seeds "$seeds" --jobs "${JOBS:-1}" --json "$results" --add
        done
        ;;
    *)
        echo "there is no core $core" >&2
        exit 2
        ;;
    esac
done
