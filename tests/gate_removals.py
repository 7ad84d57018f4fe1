#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes each condition of the confirmation gate away, one at a time, and shows which tests go red.

    tests/gate_removals.py            all of them
    tests/gate_removals.py E4 nonce   these
    tests/gate_removals.py --check    only whether each condition stands where this says

Works on a copy: nothing of the tree is changed. A condition that no test misses is a fault: exit status 1. 2: usage, or
the code is not any more what this list says.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = "daemon/session/src"

# What is taken away: file, what stands there, what stands there instead.
REMOVALS = {
    "E1 a turn of its own": (
        f"{SRC}/confirm/evidence.rs",
        "(said.turn <= asked.asked_in, Reject::SameTurn),",
        "",
    ),
    "E2 enough voice": (
        f"{SRC}/confirm/evidence.rs",
        "Reject::Overtaken),\n        (said.voiced < gate.min_voiced, Reject::TooShort),",
        "Reject::Overtaken),",
    ),
    "E3 not over playout": (f"{SRC}/confirm/evidence.rs", "(overlaps, Reject::Overlaps),", "(false && overlaps, Reject::Overlaps),"),
    "E3 not an echo": (f"{SRC}/confirm/evidence.rs", "(echo, Reject::Echo),", "(false && echo, Reject::Echo),"),
    "E4 after the question": (
        f"{SRC}/confirm/evidence.rs",
        "(said.onset <= asked.heard_at, Reject::BeforeHeard),",
        "",
    ),
    "E5 words in time": (
        f"{SRC}/person.rs",
        "self.ended.is_none_or(|ended| now <= ended.at + grace)",
        "self.ended.is_none_or(|ended| now <= ended.at + grace * 1000)",
    ),
    "E6 speech that was heard here": (
        f"{SRC}/person.rs",
        "            return Credit::Nobody;",
        "            self.turn = self.turn.next();\n"
        "            self.segments.push_back(Segment { turn: self.turn, onset: now, ended: Some(Ended { at: now, "
        "voiced: gate.min_voiced }), text: fragment.to_owned(), last_fragment: now, taken: false, may_be_earlier: false });\n"
        "            self.watch(cx);\n"
        "            return Credit::Turn;",
    ),
    "E7 a yes": (f"{SRC}/confirm/gate/spoken.rs", "None => Ok(read(cx, &question, said)),", "None => Ok(Reading::Yes),"),
    "E8 before it lapses": (
        f"{SRC}/confirm/evidence.rs",
        "(now > asked.heard_at + gate.deadline, Reject::Late),",
        "",
    ),
    "E8 within its attempts": (
        f"{SRC}/confirm/gate/spoken.rs",
        "let misunderstood = question.unclear >= gate.attempts;",
        "let misunderstood = false && question.unclear >= gate.attempts;",
    ),
    "E9 one question at a time": (
        f"{SRC}/confirm/gate.rs",
        "if open.spec.name != proposal.spec.name {",
        "if false {",
    ),
    "E10 this room": (f"{SRC}/confirm/evidence.rs", "Reject::Late),\n        (!gate.own_microphone, Reject::NotThisRoom),", "Reject::Late),"),
    "digest": (
        f"{SRC}/confirm/question.rs",
        "self.prepared.digest == prepared.digest && self.prepared.args == prepared.args",
        "prepared.digest.len() == 32",
    ),
    "single use": (
        f"{SRC}/confirm/gate.rs",
        "Verdict::Run(permit(question, grant, (proposal.key, proposal.turn), (by, until)))",
        "let (spec, prepared) = (question.spec.clone(), question.prepared.clone());\n"
        "                let again = Question::new(question.id, (spec, prepared), question.summary.clone(), "
        "question.asked_in, question.read_back);\n"
        "                self.state = State::Granted { question: again, grant, by };\n"
        "                Verdict::Run(permit(question, grant, (proposal.key, proposal.turn), (by, until)))",
    ),
    "expiry of the question": (
        f"{SRC}/confirm/gate.rs",
        "                self.settle(cx, turn, GateEnd::Expired, super::wording::LAPSED);",
        "                let _ = turn;",
    ),
    "expiry of the approval": (
        f"{SRC}/confirm/gate.rs",
        "                self.close(cx, GateEnd::Expired);",
        "                let _ = &cx;",
    ),
    "nonce": (f"{SRC}/confirm/gate/screen.rs", "sheet.nonce == nonce", "sheet.nonce == nonce || true"),
    "arming time": (
        f"{SRC}/confirm/gate/screen.rs",
        "if seen_for < cx.config.gate.arming => None,",
        "if seen_for < cx.config.gate.arming && false => None,",
    ),
    "a press that is held": (
        f"{SRC}/confirm/gate/press.rs",
        "cx.after(Timer::Hold, cx.config.gate.hold);",
        "cx.after(Timer::Hold, std::time::Duration::ZERO);",
    ),
}


def failed(output):
    return sorted(set(re.findall(r"^test (\S+) \.\.\. FAILED", output, re.M)))


def main():
    wanted = sys.argv[1:]
    if wanted == ["--check"]:
        lost = [name for name, (path, there, _) in REMOVALS.items() if (ROOT / path).read_text().count(there) != 1]
        print(f"{len(REMOVALS)} conditions of the gate" + (f", not where they were: {', '.join(lost)}" if lost else ""))
        return 2 if lost else 0
    chosen = {
        name: removal
        for name, removal in REMOVALS.items()
        if not wanted or any(name.split()[0] == word or word in name for word in wanted)
    }
    if not chosen:
        print(f"nothing is called {' '.join(wanted)}; there are: {', '.join(REMOVALS)}", file=sys.stderr)
        return 2
    green = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "voiced"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        env = dict(os.environ, PROPTEST_CASES="300", CARGO_INCREMENTAL="0", RUSTFLAGS="-A warnings")
        env.setdefault("CARGO_TARGET_DIR", str(pathlib.Path(scratch) / "target"))
        for name, (path, there, instead) in chosen.items():
            file = copy / path
            text = file.read_text()
            if text.count(there) != 1:
                print(f"{name}: {path} has {text.count(there)} times: {there}", file=sys.stderr)
                return 2
            file.write_text(text.replace(there, instead))
            command = ["cargo", "test", "--locked", "--no-fail-fast", "-p", "session"]
            run = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)
            file.write_text(text)
            red = failed(run.stdout)
            if red:
                print(f"{name}: red, {len(red)}: {', '.join(red[:6])}{' …' if len(red) > 6 else ''}", flush=True)
            elif "could not compile" in run.stderr:
                print(f"{name}: does not compile without it:\n{run.stderr[-1500:]}", file=sys.stderr)
                return 2
            else:
                green.append(name)
                print(f"{name}: GREEN, no test misses it", flush=True)
    print(f"{len(chosen)} removals, {len(chosen) - len(green)} red" + (f"; missed: {', '.join(green)}" if green else ""))
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main())
