"""Writes the history of fixtures/tasks/007-wrong-total: the same commits, with the same hashes, on any machine.

python tests/effectiveness/cases_a/history_007.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PEOPLE = ("Mara Lind", "Jonas Frey", "Ana Prelec")
START, STEP = 1_762_160_400, 61_200
MAIN, SIDE = "refs/heads/main", "refs/heads/one-pass"
CULPRIT, BEFORE = "Read amounts in one pass", "Reader: name the fields"

MONEY = '''"""Amounts in cents."""

from decimal import Decimal


def cents(text):
    """The cents of an amount such as 12.30."""
    return int(Decimal(text.strip()) * 100)


def shown(value):
    """An amount as it is printed."""
    sign = "-" if value < 0 else ""
    return f"{sign}{abs(value) // 100}.{abs(value) % 100:02d}"
'''
SPLIT = '''

def split_amount(text):
    """The same as cents, without a detour."""
    whole, _, part = text.strip().partition(".")
    units, part = int(whole), int((part + "00")[:2])
    return units * 100 - part if units < 0 else units * 100 + part
'''
SPLIT_LATER = '''

def split_amount(text: str) -> int:
    """The cents of an amount, which may begin with a minus sign."""
    whole, _, part = text.strip().partition(".")
    units = int(whole)
    hundredths = int((part + "00")[:2])
    if units < 0:
        return units * 100 - hundredths
    return units * 100 + hundredths
'''
READ = '''"""Bookings from the export of a till."""

from till.money import cents


def bookings(path):
    """Customer, kind and cents of each line."""
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            day, customer, kind, amount = line.rstrip("\\n").split(";")
            yield customer, kind, cents(amount)
'''
REPORT = '''"""What each customer owes."""


def totals(rows):
    """Cents by customer. Refunds are booked with a minus sign, vouchers without."""
    found = {}
    for customer, kind, amount in rows:
        if kind == "voucher":
            amount = -amount
        found[customer] = found.get(customer, 0) + amount
    return found
'''
CLI = '''"""python3 -m till FILE"""

import sys

from till.money import shown
from till.read import bookings
from till.report import totals


def main(args):
    for customer, total in sorted(totals(bookings(args[0])).items()):
        print(f"{customer}={shown(total)}")
    return 0


sys.exit(main(sys.argv[1:]))
'''
SUMS = """def main(args):
    if len(args) != 2 or args[0] != "sums":
        print("usage: python3 -m till sums FILE", file=sys.stderr)
        return 2
    for customer, total in sorted(totals(bookings(args[1])).items()):
"""
ONCE = """        if kind == "voucher":
            if customer in used:
                continue
            used.add(customer)
"""
CASH = '''

def cash(value):
    """What is paid out for a refund in cash: rounded half up to five cents."""
    return (value + 2) // 5 * 5
'''
FIELDS = '''"""The fields of a line."""


def fields(line):
    """Day, customer, kind and amount."""
    return line.rstrip("\\n").split(";")
'''
TOPICS = {
    "shifts": "opening and closing a shift", "drawer": "counting the drawer", "receipts": "printing a receipt again",
    "offline": "days without a network", "deposit": "bottles and their deposit", "export": "where the export lies",
    "names": "customers with the same name", "holidays": "holidays and their prices", "backup": "keeping old exports",
    "scale": "the scale in the shop", "colours": "colours of the buttons", "cards": "payments by card",
}  # fmt: skip


class History:
    """Commits for git fast-import: every one holds its whole tree."""

    def __init__(self) -> None:
        self.stream: list[bytes] = []
        self.trees: dict[str, dict[str, str]] = {MAIN: {}}
        self.tips: dict[str, int] = {}
        self.count = 0

    def commit(self, subject: str, branch: str = MAIN, merge: str | None = None, **files: str | None) -> None:
        """Commit changed files: `till_read` is till/read.py, `docs_x` docs/x.md; None removes one."""
        tree = self.trees[branch]
        if merge:
            tree.update({path: self.trees[merge][path] for path in MERGED})
        for name, text in files.items():
            folder, _, stem = name.partition("_")
            path = f"{folder}/{stem}.{'md' if folder == 'docs' else 'py'}"
            tree.pop(path, None)
            if text is not None:
                tree[path] = text
        who = PEOPLE[self.count % 3]
        when = f"{who} <{who.split()[0].lower()}@example.org> {START + self.count * STEP} +0000\n"
        self.count += 1
        text = f"commit {branch}\nmark :{self.count}\nauthor {when}committer {when}"
        self._put(text, subject + "\n")
        parents = [self.tips[branch]] if branch in self.tips else []
        parents += [self.tips[merge]] if merge else []
        for word, mark in zip(("from", "merge"), parents, strict=False):
            self.stream.append(f"{word} :{mark}\n".encode())
        self.stream.append(b"deleteall\n")
        for path in sorted(tree):
            self._put(f"M 100644 inline {path}\n", tree[path])
        self.tips[branch] = self.count

    def change(self, subject: str, name: str, old: str, new: str, branch: str = MAIN) -> None:
        """Commit a file in which one text stands in for another."""
        folder, _, stem = name.partition("_")
        before = self.trees[branch][f"{folder}/{stem}.py"]
        assert before.count(old) == 1, (subject, old)
        self.commit(subject, branch, **{name: before.replace(old, new)})

    def add(self, subject: str, name: str, text: str, branch: str = MAIN) -> None:
        """Commit a module with something new at its end."""
        folder, _, stem = name.partition("_")
        self.commit(subject, branch, **{name: self.trees[branch][f"{folder}/{stem}.py"] + text})

    def tag(self, name: str) -> None:
        self.commit(f"Version {name}", till___init__=f'"""Sums for the shop."""\n\nVERSION = "{name}"\n')
        self.stream.append(f"reset refs/tags/v{name}\nfrom :{self.count}\n\n".encode())

    def notes(self, *topics: str) -> None:
        for topic in topics:
            about = TOPICS[topic]
            self.commit(
                f"Notes on {about}", **{f"docs_{topic}": f"# {about.capitalize()}\n\nTo be agreed with the shop.\n"}
            )
            body = f"# {about.capitalize()}\n\nAgreed with the shop; see the folder in the office.\n"
            self.commit(f"Notes on {about}: what was agreed", **{f"docs_{topic}": body})

    def _put(self, head: str, text: str) -> None:
        data = text.encode()
        self.stream.append(head.encode() + f"data {len(data)}\n".encode() + data + b"\n")


MERGED = ("till/fields.py", "till/money.py", "till/read.py")


def history() -> History:
    """The whole story; the comments say what its commits are for."""
    it = History()
    it.commit("Sums by customer", till___init__='"""Sums for the shop."""\n', till_money=MONEY, till_report=REPORT)
    it.commit("Read exports", till_read=READ, till___main__=CLI)
    it.notes("shifts", "export")
    it.tag("1.0")
    it.change(
        "Leave out empty lines",
        "till_read",
        "        for line in handle:\n",
        "        for line in filter(str.strip, handle):\n",
    )
    it.notes("drawer", "receipts")
    it.tag("1.1")
    it.change("Totals in a column", "till___main__", "{customer}={shown(total)}", "{customer:<14}{shown(total):>10}")
    it.notes("names")
    # Another fault, which ends before the one that is looked for begins.
    report = it.trees[MAIN]["till/report.py"]
    once = report.replace("    found = {}\n", "    found, used = {}, set()\n").replace(
        '        if kind == "voucher":\n', ONCE
    )
    it.commit("A voucher counts once", till_report=once)
    it.notes("offline")
    it.tag("1.2")
    it.notes("deposit")
    it.commit("Two vouchers of one customer both count", till_report=report)
    it.change(
        "Leave out lines that begin with #",
        "till_read",
        "            day,",
        '            if line.startswith("#"):\n                continue\n            day,',
    )
    # The command changes: what ran the program before runs it no more.
    main = it.trees[MAIN]["till/__main__.py"]
    head = "def main(args):\n    for customer, total in sorted(totals(bookings(args[0])).items()):\n"
    it.commit(
        "Commands, of which sums is the first",
        till___main__=main.replace(head, SUMS).replace("till FILE", "till sums FILE"),
    )
    it.tag("1.3")
    it.trees[SIDE], it.tips[SIDE] = dict(it.trees[MAIN]), it.tips[MAIN]
    it.notes("holidays")
    # A branch in which the program cannot always be started.
    read = it.trees[SIDE]["till/read.py"]
    asks = read.replace("import cents", "import cents\n\nfrom till.fields import fields").replace(
        'line.rstrip("\\n").split(";")', "fields(line)"
    )
    it.commit("Reader: fields of their own", SIDE, till_read=asks.replace("cents\n\nfrom", "cents\nfrom"))
    it.commit("Reader: the module that was forgotten", SIDE, till_fields=FIELDS)
    it.add("Amounts without a detour", "till_money", SPLIT, SIDE)
    it.commit(
        BEFORE,
        SIDE,
        till_fields=FIELDS.replace(
            '"""The fields of a line."""', '"""The fields of a line, which a semicolon parts."""'
        ),
    )
    it.notes("backup")
    before = it.trees[SIDE]["till/read.py"]
    it.commit(
        CULPRIT,
        SIDE,
        till_read=before.replace("import cents", "import split_amount").replace(
            " cents(amount)", " split_amount(amount)"
        ),
    )
    after = it.trees[SIDE]["till/read.py"]
    it.commit(
        "Tidy the reader",
        SIDE,
        till_read=after.replace("in filter(str.strip, handle):", "in filter(str.strip, handle:"),
    )
    it.commit("Tidy the reader, second try", SIDE, till_read=after.replace("Customer, kind", "The customer, the kind"))
    # What everybody suspects.
    it.add("Round refunds half up", "till_report", CASH)
    it.commit("Merge branch 'one-pass'", merge=SIDE)
    it.tag("1.4")
    it.notes("scale")
    it.commit('Revert "Round refunds half up"', till_report=report)
    it.notes("colours")
    it.tag("1.5")
    money = (
        it.trees[MAIN]["till/money.py"]
        .replace(SPLIT, SPLIT_LATER)
        .replace("def cents(text):", "def cents(text: str) -> int:")
    )
    it.commit(
        "Say what functions take and give",
        till_money=money.replace("def shown(value):", "def shown(value: int) -> str:"),
    )
    it.notes("cards")
    it.tag("1.6")
    return it


def write(repository: Path) -> dict[str, str]:
    """Make a bare repository with the history; its commits by subject."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", repository], check=True)
    stream = b"".join(history().stream)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=stream, check=True)
    subprocess.run(["git", "update-ref", "-d", SIDE], cwd=repository, check=True)
    done = subprocess.run(["git", "log", "--format=%H %s"], cwd=repository, check=True, capture_output=True, text=True)
    return {subject: commit for commit, _, subject in (line.partition(" ") for line in done.stdout.splitlines())}


if __name__ == "__main__":
    task = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder, "till.git")
        commits = write(repository)
        bundle = (task / "starting" / "history.bundle").resolve()
        command = ["git", "-c", "pack.threads=1", "bundle", "create", "--quiet", bundle, "HEAD", "main", "--tags"]
        subprocess.run(command, cwd=repository, check=True)
    answer = {
        "commit": commits[CULPRIT],
        "commit_subject": CULPRIT,
        "last_good": commits[BEFORE],
        "last_good_subject": BEFORE,
        "file": "till/money.py",
        "function": "split_amount",
    }
    (task / "verifier" / "expected.json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
