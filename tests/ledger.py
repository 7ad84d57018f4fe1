#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks tests/LEDGER.md: every row of the tool contract is there once, and what it names exists.

    tests/ledger.py [ROOT]       check the workspace at ROOT (default: the one this file is in)
    tests/ledger.py --open       also list what is open, and what is held in part
    tests/ledger.py --selftest   show that the checker finds what it is there to find

Names stand in backticks in the last column:

    package::test_name           a function under #[test] or the like that is not ignored; between package and
                                 function there may be folders and modules, where a name is not enough
    name.txt                     a transcript of daemon/session/tests/golden that golden.rs lists
    refused/name.rs              a case that the test of the package refused hands to trybuild's compile_fail
    folder/file, file#heading    a file; its heading as in a link (TOML: the name of a table)

Needs nothing but Python. Exit status: 0 all of it exists, 1 something is missing, 2 usage.
"""

import argparse
import pathlib
import re
import sys
import tempfile

PROMISES = [str(n) for n in range(1, 146)] + ["116b"] + [f"X{n}" for n in range(1, 9)]
CASES = [f"T{n}" for n in range(1, 111)] + ["T96b", "T96c"]
GATE = [f"G{n}" for n in range(1, 63)] + ["P1", "P2", "P3"] + [f"E{n}" for n in range(1, 11)]

GOLDEN = pathlib.Path("daemon/session/tests/golden")
GOLDEN_LIST = pathlib.Path("daemon/session/tests/session/golden.rs")

ROW = re.compile(r"^\|\s*(X?\d+[a-z]?|T\d+[a-z]?|[GPE]\d+)\s*\|(.*)\|\s*$")
NAME = re.compile(r"`([^`]*)`")
OPEN = re.compile(r"\bopen\b\s*:\s*\S")
TEST = re.compile(r"^#\[(?:\w+::)*test(?:\(.*\))?\]")
IGNORED = re.compile(r"^#\[ignore\b")
FUNCTION = re.compile(r"^(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)")
# Parts of a path that say nothing about what is in it.
PLAIN = {"src", "tests", "main", "mod", "lib"}


class Workspace:
    """What there is to be named."""

    def __init__(self, root):
        self.root = root
        self.tests = {}  # function -> [path of names down to it]
        self.ignored = set()
        self.refused = set()
        for manifest in sorted(self.files("Cargo.toml")):
            name = re.search(r'^\[package\][^\[]*?^name\s*=\s*"([^"]+)"', manifest.read_text(), re.M | re.S)
            if name:
                self.read_package(manifest.parent, name.group(1))
        listed = root / GOLDEN_LIST
        text = listed.read_text() if listed.exists() else ""
        block = re.search(r"^transcripts!\s*\{(.*?)^\}", text, re.M | re.S)
        self.golden = set(block.group(1).split()) if block else set()

    def files(self, pattern, below=None):
        for path in (below or self.root).rglob(pattern):
            parts = path.relative_to(self.root).parts
            if not any(part == "target" or part.startswith(".") for part in parts):
                yield path

    def read_package(self, folder, package):
        for path in self.files("*.rs", folder):
            inner = (parent for parent in path.parents if parent != folder and folder in parent.parents)
            if any((parent / "Cargo.toml").exists() for parent in inner):
                continue  # of a package below this one
            text = path.read_text()
            parts = [part for part in path.relative_to(folder).with_suffix("").parts if part not in PLAIN]
            for function, ignored in tests_of(text):
                if ignored:
                    self.ignored.add(function)
                else:
                    self.tests.setdefault(function, []).append([package, *parts])
            for case in re.findall(r'compile_fail\("cases/([^"]+)"\)', text):
                if (folder / "cases" / case).exists():
                    self.refused.add(f"{package}/{case}")

    def fault(self, name):
        """Why `name` names nothing; None if it names something."""
        if "#" in name:
            file, heading = name.split("#", 1)
            path = self.root / file
            if not path.is_file():
                return "there is no such file"
            return None if heading in headings(path) else "the file has no such heading"
        if name.endswith(".txt") and "/" not in name:
            if not (self.root / GOLDEN / name).is_file():
                return "there is no such transcript"
            return None if name.removesuffix(".txt") in self.golden else "no test replays this transcript"
        if name in self.refused:
            return None
        if "/" in name or "." in name:
            return None if (self.root / name).is_file() else "there is no such file, and no such refused case"
        return self.test_fault(name)

    def test_fault(self, name):
        *wanted, function = name.split("::")
        found = [path for path in self.tests.get(function, []) if within(wanted, path)]
        if len(found) > 1:
            return "several tests are called so: say in which module"
        if found:
            return None
        if function in self.ignored:
            return "the test is ignored"
        where = ", ".join("::".join(path) for path in self.tests.get(function, []))
        return f"there is no such test, but one in {where}" if where else "there is no such test"


def tests_of(text):
    """Names of the test functions in `text`, and whether each is ignored."""
    is_test = is_ignored = False
    for line in map(str.strip, text.splitlines()):
        function = FUNCTION.match(line)
        if TEST.match(line):
            is_test = True
        elif IGNORED.match(line):
            is_ignored = True
        elif function:
            if is_test:
                yield function.group(1), is_ignored
            is_test = is_ignored = False
        elif line and not line.startswith(("#[", "//")):
            is_test = is_ignored = False


def within(wanted, path):
    """Whether `wanted` starts with the same package as `path` and is otherwise part of it, in its order."""
    if not wanted:
        return True
    rest = iter(path[1:])
    return wanted[0] == path[0] and all(part in rest for part in wanted[1:])


def headings(path):
    if path.suffix == ".md":
        titles, code = [], False
        for line in path.read_text().splitlines():
            code ^= line.startswith("```")
            if not code and (title := re.match(r"#+\s+(.*)", line)):
                titles.append(re.sub(r"[^\w\- ]", "", title.group(1).strip().lower()).replace(" ", "-"))
        return titles
    if path.suffix == ".toml":
        return re.findall(r"^\[+([^\]]+)\]+", path.read_text(), re.M)
    return []


def rows_of(text):
    for line in text.splitlines():
        if row := ROW.match(line):
            yield row.group(1), row.group(2).split("|")


def check(text, workspace, promises=PROMISES, cases=CASES + GATE):
    """Faults of the tables in `text`; {row: "held", "part" or "open"}; {row: what is open of it}."""
    faults, states, missing = [], {}, {}
    for row, cells in rows_of(text):
        if row not in promises and row not in cases:
            faults.append(f"{row}: the contract has no such row")
        if row in states:
            faults.append(f"{row}: it is there twice")
        states[row] = "open"
        if len(cells) != 2 or not cells[0].strip():
            faults.append(f"{row}: expected three columns: row, promise, where")
            continue
        where = cells[1].strip()
        names = NAME.findall(where)
        is_open = OPEN.search(where)
        if not names and not is_open:
            faults.append(f"{row}: it names nothing and does not say `open: why`")
        for name in names:
            if fault := workspace.fault(name):
                faults.append(f"{row}: {name}: {fault}")
        if names:
            states[row] = "part" if is_open else "held"
        if is_open:
            missing[row] = where[is_open.start() :]
    faults.extend(f"{row}: it is missing" for row in [*promises, *cases] if row not in states)
    return faults, states, missing


def count(what, rows, states):
    of = [states.get(row, "open") for row in rows]
    return f"{len(rows)} {what}: {of.count('held')} held, {of.count('part')} held in part, {of.count('open')} open"


def selftest():
    """A small workspace, and tables that are right and wrong about it."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {
            "tools/Cargo.toml": '[package]\nname = "tools"\n',
            "tools/tests/one.rs": "#[test]\nfn real() {}\nfn helper() {}\n// #[test]\nfn commented() {}\n"
            '#[tokio::test(start_paused = true)]\n/// Said.\nasync fn paused() { }\n'
            "#[test]\n#[ignore]\nfn ignored() {}\n#[test]\nfn twice() {}\n",
            "tools/tests/two.rs": "#[test]\nfn twice() {}\n",
            "refused/Cargo.toml": '[package]\nname = "refused"\n',
            "refused/refused.rs": '#[test]\nfn cases() { c.compile_fail("cases/a.rs"); }\n',
            "refused/cases/a.rs": "",
            "refused/cases/b.rs": "",
            "tools/target/x.rs": "#[test]\nfn built() {}\n",
            "tools/inner/Cargo.toml": '[package]\nname = "inner"\n',
            "tools/inner/src/lib.rs": "#[test]\nfn inside() {}\n",
            f"{GOLDEN}/listed.txt": "",
            f"{GOLDEN}/forgotten.txt": "",
            str(GOLDEN_LIST): "transcripts! {\n    listed\n    lost\n}\n",
            "README.md": "# Top\n## 2. A place, here\n```\n# no heading\n```\n",
            "voiced.toml": "[tools.call]\n#a = 1\n",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        workspace = Workspace(root)

        def faults(where, rest="| 2 | b | open: later |\n"):
            return check(f"| 1 | a | {where} |\n{rest}", workspace, ["1"], ["2"])[0]

        wrong = []

        def expect(what, found, expected):
            if found != expected:
                wrong.append(f"{what}: expected {expected}, found {found}")

        for good in (
            "`tools::real`", "`real`, `tools::paused`", "`tools::two::twice`", "`inner::inside`", "`listed.txt`",
            "`refused/a.rs`", "`README.md`, `README.md#2-a-place-here`", "`voiced.toml#tools.call`", "open: not built",
            "`real`; open: the rest",
        ):  # fmt: skip
            expect(good, faults(good), [])
        for bad in (
            "made_up", "tools::made_up", "other::real", "tools::other::real", "tools::helper", "tools::commented",
            "tools::ignored", "tools::twice", "tools::built", "tools::inside", "lost.txt", "forgotten.txt",
            "refused/b.rs", "refused/c.rs", "README.md#no-heading", "NOT.md#top", "tools/none.rs",
        ):  # fmt: skip
            found = faults(f"`tools::real`, `{bad}`")
            expect(bad, [fault.startswith(f"1: {bad}: ") for fault in found], [True])
        for nothing in ("", "later", "open", "open:"):
            expect(repr(nothing), len(faults(nothing)), 1)
        held = "`real`"
        expect("a row that is missing", faults(held, ""), ["2: it is missing"])
        twice = faults(held, "| 1 | a | open: later |\n| 2 | b | open: later |\n")
        expect("a row that is there twice", twice, ["1: it is there twice"])
        unknown = faults(held, "| 2 | b | `real` |\n| X9 | c | `real` |\n")
        expect("a row of no contract", unknown, ["X9: the contract has no such row"])
        states = check("| 1 | a | `real`; open: b |\n| 2 | b | `real` |", workspace, ["1"], ["2"])[1]
        expect("states", states, {"1": "part", "2": "held"})
    for line in wrong:
        print(line)
    print("the selftest failed" if wrong else "the selftest passed")
    return 1 if wrong else 0


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=here, metavar="ROOT")
    parser.add_argument("--open", action="store_true", help="also list what is open")
    parser.add_argument("--selftest", action="store_true", help="check the checker")
    options = parser.parse_args()
    if options.selftest:
        return selftest()
    ledger = options.root / "tests/LEDGER.md"
    if not ledger.is_file():
        parser.error(f"there is no {ledger}")
    faults, states, missing = check(ledger.read_text(), Workspace(options.root))
    if options.open:
        for row, why in missing.items():
            print(f"{row} ({states[row]}): {why}")
    for fault in faults:
        print(f"tests/LEDGER.md: {fault}")
    print(f"{count('promises', PROMISES, states)}; {count('conformance rows', CASES, states)}; {count('rows of the gate', GATE, states)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
