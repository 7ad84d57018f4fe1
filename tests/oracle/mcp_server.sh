#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Puts a server that nobody here wrote behind `voiced`: mcp-server-time of PyPI, made with the official Python SDK. It is
# checked, shown, called, and gone afterwards.
#
#   tests/oracle/mcp_server.sh VOICED FOLDER    the program, and a folder for what is installed
#   tests/oracle/mcp_server.sh install FOLDER   only installs it
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
voiced=$1
folder=$2/mcp-server
server=$folder/bin/mcp-server-time
config=$folder/voiced.toml

if [ ! -x "$server" ]; then
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check mcp-server-time==2026.10.19
fi

# The first start compiles it, which is nobody's fault.
"$server" --help >/dev/null
[ "$voiced" != install ] || exit 0

cat >"$config" <<TOML
[[mcp]]
name = "clock"
command = ["$server", "--local-timezone", "Europe/Paris"]
timeout_seconds = 20
[mcp.tools.get_current_time]
effect = "read"
needs_result_now = true
TOML

# Reads JSON on standard input and a Python expression over it, `it`, that must hold.
holds() {
    python3 -c 'import json, sys
it = json.load(sys.stdin)
if not eval(sys.argv[1]):
    sys.exit("does not hold: " + sys.argv[1] + "\n" + json.dumps(it, indent=1))' "$1"
}

"$voiced" check --config "$config" --json | holds \
    'it["ok"] and any("`convert_time`: left out: it acts on the world outside" in one for one in it["cautions"])'
"$voiced" tools list --config "$config" --json 2>/dev/null | holds \
    'any(tool["name"] == "clock_get_current_time" and "timezone" in tool["parameters"]["properties"] for tool in it)'
"$voiced" tools test clock_get_current_time --args '{"timezone": "Asia/Tokyo"}' --config "$config" 2>/dev/null | holds \
    'it["ok"] and it["response"]["timezone"] == "Asia/Tokyo" and set(it["sent_to_model"]) == {"status", "result"}'
refused=$("$voiced" tools test clock_get_current_time --args '{"timezone": "No/Where"}' --config "$config" 2>/dev/null || true)
holds 'it["status"] == "error" and "No/Where" in str(it["response"])' <<<"$refused"

for process in /proc/[0-9]*/cmdline; do
    # One that has ended meanwhile cannot be read.
    if { tr '\0' ' ' <"$process"; } 2>/dev/null | grep -qF "$server --local"; then
        echo "a server was left behind: $process" >&2
        exit 1
    fi
done
echo "a server of somebody else: checked, shown, called, gone"
