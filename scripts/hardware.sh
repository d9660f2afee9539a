#!/bin/sh
# Measures generated cores beside those of bench/rtl, which were written by hand: scripts/hardware.sh HEADRACE SEEDS FILE.json
# [CORE]... The core xls is what Google XLS makes of bench/xls; it needs a PYTHON with xls-python, and an iverilog that counts its
# cycles. Both of a pair go through one run, with the same passes and seeds. What was measured before is kept in FILE.json, and
# steps whose input is the same are not done again. The cores aes-gcm and ascon-aead have the ports of the LWC hardware API and both
# directions; a seed of ours takes long.
set -eu

headrace=$1 seeds=$2 results=$3
shift 3
devices=${DEVICES:-ecp5,xc7-estimate}
cores=${*:-aes sha256 des ascon keccak serpent chacha20 whirlpool aes-pipelined}

pair() { # OURS FOLDER OPTION...
    ours=$1 folder=$2
    shift 2
    "$headrace" synth "$ours" ${folder:+"bench/rtl/$folder" --like "$ours"} --wide-ports --device "$devices" --seeds "$seeds" \
        --jobs "${JOBS:-1}" --json "$results" --add "$@"
}

# Cores with the LWC hardware API, ours and the one in FOLDER, in the bench of ours, which counts the cycles of a block: SET FOLDER.
aead() {
    set=$1 folder=$2
    ours=target/lwc/$set
    rm -rf "$ours"
    "$headrace" build "$set" --shape lwc --target verilog -o "$ours"
    for core in "$ours/rtl:LWC:$ours" "bench/rtl/$folder:$folder:bench/rtl/$folder"; do
        sources=${core%%:*} rest=${core#*:}
        top=${rest%%:*} place=${rest#*:}
        sed "s/^  LWC dut (/  $top dut (/" "$ours/tb/LWC_tb.v" >"$ours/bench.v"
        iverilog -g2005 -s LWC_tb -o "$ours/bench.vvp" "$sources"/*.v "$ours/bench.v"
        (cd "$ours" && vvp -n bench.vvp +stall=0 +cycles=1) >"$ours/bench.log"
        grep '^operation lwc: .* 0 failed' "$ours/bench.log"
        "$headrace" synth "$place" --top "$top" --bits 128 --cycles "$(per_block "$ours")" --device "$devices" --seeds "$seeds" \
            --jobs "${JOBS:-1}" --json "$results" --add
    done
}

# Clock cycles of a block of 16 bytes: by how much longer the longest message takes than the shortest one, of those that are
# decrypted behind another one that is, since a message in the other direction may go along with it. FOLDER.
per_block() {
    awk '
        FNR == 1 { file++ }
        file == 1 && /MsgID=/ {
            gsub(/[^0-9A-Z=, ]/, "")
            split($0, part, /[=,]/)
            decrypts[part[2] + 0] = part[4] ~ /DEC/
            blocks[part[2] + 0] = int((part[6] + 15) / 16) + int((part[8] + 15) / 16)
        }
        file == 2 && $1 == "message" && decrypts[$2 + 0] && decrypts[$2 - 1] {
            n = blocks[$2 + 0]
            if (most == "" || n > most) { most = n; long = $3 }
            if (least == "" || n < least) { least = n; short = $3 }
        }
        END { printf "%d\n", (long - short) / (most - least) + 0.5 }' "$1/kat/pdi.txt" "$1/bench.log"
}

for core in $cores; do
    case $core in
    aes) pair aes128 aes_encrypt --operation encrypt --simulate ;;
    des) pair des des_encrypt --operation encrypt ;;
    sha256) pair 'ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)' sha256_compression --block 'State=*8' --block 'Block=*64' ;;
    ascon) pair 'ctl.parts.ascon.AsconP()' ascon_p --block Rounds=12 --block 'Input=*5' ;;
    keccak) pair 'ctl.parts.keccak.KeccakP()' keccak_p --block Rounds=24 --block 'Input=*25' ;;
    serpent) pair serpent128 '' --operation encrypt ;;
    aes-gcm) aead aes128-gcm aes_gcm ;;
    ascon-aead) aead ascon-aead128 ascon_aead128 ;;
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
