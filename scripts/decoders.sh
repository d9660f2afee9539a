#!/bin/sh
# The video and picture decoders that were published for Orcc, unchanged, on small bitstreams that ffmpeg makes: what they show,
# held against what ffmpeg decodes. Writes a table in Markdown to standard output.
#
#   scripts/decoders.sh CORPUS [HEADRACE] [FOLDER] [ENGINE...]
#
# CORPUS is a copy of https://github.com/orcc/orc-apps. ffmpeg with libx264 and libx265, and python3 must be there. A run that
# takes longer than DECODER_SECONDS (600) is ended, and told.
set -eu
corpus=$1
headrace=${2:-headrace}
folder=${3:-$(mktemp -d)}
[ $# -le 3 ] && set -- 1 2 3 interp native
shift 3
mkdir -p "$folder"
seconds=${DECODER_SECONDS:-600}
corpus=$(cd "$corpus" && pwd)
# What is named by a path is found from elsewhere, too; a name alone is looked for in PATH.
case $headrace in
/*) ;;
*/*) headrace=$(pwd)/$headrace ;;
esac
cd "$folder"

# --- bitstreams --------------------------------------------------------------------------------------------------------

make_video() { # NAME FRAMES SIZE ENCODER-OPTIONS...
    name=$1 frames=$2 size=$3
    shift 3
    ffmpeg -nostdin -loglevel error -y -f lavfi -i "testsrc2=size=$size:rate=25" -frames:v "$frames" -pix_fmt yuv420p "$@" \
        "$name"
    ffmpeg -nostdin -loglevel error -y -i "$name" -f rawvideo -pix_fmt yuv420p "$name.yuv"
}

# One slice a picture: the decoder knows no markers in the middle of one, which ffmpeg writes for each of its threads.
make_video sp.m4v 6 176x144 -c:v mpeg4 -threads 1 -bf 0 -qscale:v 4 -f m4v
make_video cbp.264 6 176x144 -c:v libx264 -profile:v baseline -preset fast -x264-params "cabac=0:ref=1:bframes=0" -f h264
# Pictures of whole coding tree units: in others the decoder predicts the quantiser of a group from the wrong one, as a remark in it
# says. Without groups of their own quantiser (aq-mode=0), it decodes pictures of any size.
make_video intra.265 2 192x128 -c:v libx265 -x265-params "keyint=1:wpp=0:log-level=none" -f hevc
make_video parts.265 2 176x144 -c:v libx265 -x265-params "keyint=1:wpp=0:aq-mode=0:log-level=none" -f hevc
# The decoder wants a quantisation table for chroma, which ffmpeg writes when it is another one than that of luma.
chroma=8$(seq -f ,%g 17 79 | tr -d '\n')
ffmpeg -nostdin -loglevel error -y -f lavfi -i testsrc2=size=176x144 -frames:v 1 -pix_fmt yuvj420p -c:v mjpeg -q:v 4 \
    -huffman default -chroma_intra_matrix "$chroma" -f image2 pic.jpg
ffmpeg -nostdin -loglevel error -y -i pic.jpg -f rawvideo -pix_fmt yuvj420p pic.jpg.yuv

# The decoder of the constrained baseline profile knows no video usability information, which x264 always writes: it is taken
# out of the sequence parameter set, with what is no picture. ffmpeg decodes both alike.
python3 - cbp.264 <<'PYTHON'
import sys

def units(data):
    parts = data.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")
    return [part for part in parts if part]

def without_prevention(data):
    return data.replace(b"\0\0\3", b"\0\0")

def with_prevention(data):
    out, zeros = bytearray(), 0
    for byte in data:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)

class Bits:
    def __init__(self, data):
        self.bits = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def fixed(self, n):
        self.at += n
        return int(self.bits[self.at - n : self.at], 2)

    def golomb(self):
        zeros = 0
        while self.fixed(1) == 0:
            zeros += 1
        return (1 << zeros) - 1 + (self.fixed(zeros) if zeros else 0)

out = bytearray()
for unit in units(open(sys.argv[1], "rb").read()):
    kind = unit[0] & 31
    if kind in (6, 12):
        continue
    if kind == 7:
        bits = Bits(without_prevention(unit[1:]))
        bits.fixed(24)
        bits.golomb(), bits.golomb()
        order = bits.golomb()
        assert order in (0, 2)
        if order == 0:
            bits.golomb()
        bits.golomb(), bits.fixed(1), bits.golomb(), bits.golomb()
        if bits.fixed(1) == 0:
            bits.fixed(1)
        bits.fixed(1)
        if bits.fixed(1):
            [bits.golomb() for _ in range(4)]
        kept = bits.bits[: bits.at] + "01"
        kept += "0" * (-len(kept) % 8)
        unit = unit[:1] + with_prevention(bytes(int(kept[i : i + 8], 2) for i in range(0, len(kept), 8)))
    out += b"\0\0\0\1" + unit
open(sys.argv[1], "wb").write(out)
PYTHON
ffmpeg -nostdin -loglevel error -y -i cbp.264 -f rawvideo -pix_fmt yuv420p again.yuv
cmp again.yuv cbp.264.yuv

# --- runs --------------------------------------------------------------------------------------------------------------

echo "| decoder | bitstream | engine | pictures | largest difference | samples that differ | seconds |"
echo "|---|---|---|--:|--:|--:|--:|"

decode() { # TITLE ENGINE BITSTREAM FRAMES SIZE LOOPS OPTIONS...
    title=$1 engine=$2 input=$3 frames=$4 size=$5 loops=$6
    shift 6
    rm -f out.yuv
    began=$(date +%s)
    status=0
    timeout "$seconds" "$headrace" run "$@" --engine "$engine" --source "$input" --loops "$loops" --frames "$frames" \
        --video out.yuv > "$input.$engine.out" 2> "$input.$engine.err" || status=$?
    took=$(($(date +%s) - began))
    if [ "$status" -ne 0 ] || [ ! -f out.yuv ]; then
        [ "$status" -eq 124 ] && why="not ended" || why="exit status $status"
        echo "| $title | $input | $engine | $why | | | $took |"
        return
    fi
    python3 - "$title" "$input" "$engine" "$frames" "$took" "$size" <<'PYTHON'
import sys
title, name, engine, frames, took, shape = sys.argv[1:]
width, height = map(int, shape.split("x"))
ours, theirs = open("out.yuv", "rb").read(), open(name + ".yuv", "rb").read()
size = width * height * 3 // 2
differences = [abs(a - b) for a, b in zip(ours, theirs)]
n = min(len(ours), len(theirs)) // size
shown = f"{n} of {frames}" if len(ours) == len(theirs) else f"{n} of {frames}, {len(ours)} bytes of {len(theirs)}"
print(f"| {title} | {name} | {engine} | {shown} | {max(differences, default=0)} | {sum(d != 0 for d in differences)} | {took} |")
PYTHON
}

for engine in "$@"; do
    decode "MPEG-4 SP (RVC)" "$engine" sp.m4v 6 176x144 0 --orcc-widths -L "$corpus/RVC/src" -L "$corpus/System/src" \
        org.sc29.wg11.mpeg4.part2.sp.Top_mpeg4_part2_SP_decoder
    # Its display does not count pictures.
    decode "JPEG" "$engine" pic.jpg 1 176x144 1 --orcc-widths -L "$corpus/JPEG/src" -L "$corpus/System/src" jpeg.decoder.Top_Decoder
    decode "AVC CBP (RVC)" "$engine" cbp.264 6 176x144 0 --orcc-widths -L "$corpus/RVC/src" -L "$corpus/System/src" \
        org.sc29.wg11.mpeg4.part10.cbp.Top_mpeg4_part10_CBP_decoder
    # It reads beside its lists.
    for stream in intra.265/192x128 parts.265/176x144; do
        decode "HEVC intra (RVC)" "$engine" "${stream%/*}" 2 "${stream#*/}" 0 --orcc-widths --lenient-indices \
            -L "$corpus/RVC/src" -L "$corpus/System/src" org.sc29.wg11.mpegh.part2.Top_mpegh_part2_still_picture
    done
done
