"""Task 014: descriptions that requests find, in other authors' words, and descriptions that they miss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path], None]
EXPENSES, INVOICES = "expense-claims", "invoice-intake"


def describe(**lines: str) -> Edit:
    """Replace the description lines of skills (underscores for hyphens), as they stand after `description:`."""

    def edit(workspace: Path) -> None:
        for name, line in lines.items():
            path = workspace / "catalogue" / name.replace("_", "-") / "SKILL.md"
            text = path.read_text(encoding="utf-8")
            start = text.index("description:")
            end = text.index("\nlicense:", start)
            path.write_text(f"{text[:start]}description:{line}{text[end:]}", encoding="utf-8")

    return edit


def change(name: str, old: str, new: str) -> Edit:
    def edit(workspace: Path) -> None:
        path = workspace / "catalogue" / name / "SKILL.md"
        text = path.read_text(encoding="utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def rename(workspace: Path) -> None:
    (workspace / "catalogue" / EXPENSES).rename(workspace / "catalogue" / "travel-money")


def add_a_skill(workspace: Path) -> None:
    folder = workspace / "catalogue" / "travel-money"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: travel-money\ndescription: Trips.\n---\n", encoding="utf-8")


BEFORE = Path(__file__).resolve().parents[3] / "fixtures" / "tasks" / "014-office-catalogue" / "starting" / "catalogue"


def as_before(name: str) -> Edit:
    def edit(workspace: Path) -> None:
        text = (BEFORE / name / "SKILL.md").read_text(encoding="utf-8")
        (workspace / "catalogue" / name / "SKILL.md").write_text(text, encoding="utf-8")

    return edit


RIGHT = {
    "014": [
        describe(
            expense_claims=" 'Handles the reimbursement of business trips. Use when an employee wants money back after paying hotel,"
            " train, taxi, conference or parking out of pocket, hands in receipts, or asks about mileage (kilometres, own car).'",
            invoice_intake=" >-\n  Processes bills from suppliers: reads number, IBAN and due date, finds duplicates, books them.\n"
            "  Use when a supplier invoice or bill arrives.\n\n  Not for unpaid invoices to customers (payment-reminders).",
        ),
        describe(
            expense_claims=" Reimburses staff for travel costs - tickets, taxi, hotel, parking, kilometres with their own car,"
            "\n  lunches with guests. Use for receipts that an employee paid privately.",
            invoice_intake=" Registers incoming supplier invoices and bills. Use when a supplier's invoice arrives, scanned or as PDF,"
            " and has to be checked, booked or paid.",
            payment_reminders=" Writes reminders to customers who have not paid an invoice of ours. Use when one is overdue, a second"
            " reminder is due, or a customer asks for more time or instalments. Not for bills that we get; use invoice-intake.",
        ),
        describe(
            expense_claims=' "Gets the money back that somebody has paid privately: \\"train ticket\\", flight, taxi, hotel, conference,'
            " parking, receipts, lunch with guests, kilometres in their own car. Do not use it for suppliers' bills.\"",
            invoice_intake=' "Books what suppliers send: Use when there is a new invoice or bill (PDF, scanned) with an odd IBAN, order'
            ' number or due date."',
        ),
    ]
}
TRIGGERS = "Use when somebody paid for a train ticket, taxi, hotel, parking or lunch with guests with their own card, or by car."
BLURB = (
    "Prepares the reimbursement of expenditure that members of staff had on behalf of the company, in line with its policy and with the"
    " law, with the right form, the right cost centre and the right approval, and without questions that nobody needs to be asked. "
)
WRONG = {
    "014": [
        ("reaches expense-claims", as_before(EXPENSES)),
        ("reaches invoice-intake", as_before(INVOICES)),
        ("reaches expense-claims", describe(expense_claims=f' "{BLURB}{TRIGGERS}"')),
        (
            "reaches expense-claims",
            describe(expense_claims=" Reimburses business expenditure in line with policy. Use when expenses are submitted."),
        ),
        ("readable", describe(expense_claims=f" Gets money back: {TRIGGERS}")),
        ("readable", describe(expense_claims=f' "{TRIGGERS}{" Also others like it." * 60}"')),
        ("readable", describe(expense_claims=" [train, taxi, hotel]")),
        ("nothing else changed", change(EXPENSES, "0.38 EUR", "0.30 EUR")),
        ("nothing else changed", change(EXPENSES, "license: MIT", "license: MIT\nkeywords: train, taxi, hotel")),
        ("nothing else changed", change(EXPENSES, "name: expense-claims", "name: travel-expenses")),
        ("nothing else changed", rename),
        ("nothing else changed", add_a_skill),
        ("no urging", change(EXPENSES, "Gets employees", "Always use this skill first for travel. Gets employees")),
        (
            "reaches payment-reminders",
            describe(invoice_intake=" Invoices that a customer has not paid, overdue customers, customer reminders, second reminder to a customer."),
        ),
        (
            "reaches meeting-minutes",
            describe(expense_claims=f" {TRIGGERS} Meeting, meetings, minutes, notes, recording, decisions, board.", meeting_minutes=" Minutes."),
        ),
    ]
}  # fmt: skip
