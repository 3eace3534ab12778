"""The user's input as a file."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 14
TITLE = "Input file (baseline)"
MEANING = "The user's input must be there as a file: PDF, image, audio, spreadsheet, log, data, transcript."

_KIND = (
    r"pdfs?|docx|word documents?|documents?|spreadsheets?|xlsx|excel (?:files?|sheets?|workbooks?)|csvs?(?: "
    r"files?)?|images?|photos?|pictures?|screenshots?|audio(?: files?)?|videos?(?: files?)?|recordings?|"
    r"transcripts?|logs?(?: files?)?|pptx|presentations?|slide decks?|invoices?|receipts?|resumes?|cvs?|"
    r"contracts?|data ?sets?|data files?|binar(?:y|ies)|executables?|malware samples?|crash dumps?|dump "
    r"files?|memory dumps?|\.dmp|pcaps?|firmware|apks?|epubs?|ebooks?|parquet|json files?|manuscripts?|"
    r"papers?|bank statements?|checkpoints?|markdown files?|plan files?|point clouds?|scans?"
)
_ABOUT = lazy(
    rf"\b(?:convert|extract|analy[sz]|process|pars|transcrib|summari[sz]|read|edit|fill|merg|split|compress|"
    rf"resiz|ocr|translat|review|redlin|clean|profil|annotat|transform|inspect|disassembl|decompil|crop|enhanc|"
    rf"upscal|trim|caption|categori[sz]|import|validat|proofread|detect|identify|debug|diagnos|audit|check|"
    rf"verif|reverse engineer)\w*\b[^.;\n]{{0,50}}?\b({_KIND})\b|"
    rf"\b(?:from|of) (?:an? |the |user'?s? |uploaded |local |existing )*({_KIND})\b|\bupload(?:s|ed)? (?:an? )?({_KIND})\b"
)
_SAID = phrase(
    "dump|provide|upload|plan file|attach|input file|given a|given an|the user's|path to|source file|open the|load the|"
    "input:|the input|what you provide|existing",
    rf"\b(?:provide[sd]?|uploads?|uploaded|attach(?:es|ed)?|given an?|path to (?:the |an? |your )?|drop|supply|"
    rf"supplies|shares?|open|load|read)\b[^.\n]{{0,30}}?\b({_KIND})\b|\b(?:open|load) (?:the |a )?(dump)\b|"
    rf"\b(dump file) path|\b(input files?|input (?:pdf|image|video|audio|document|csv))\b|\binputs?\b[*_ "
    rf"]*[:：][^.\n]{{0,30}}\b({_KIND}|file)\b",
)
_WORD = lazy(
    r"^[\"']?(?:[\w./~<>{}$-]{0,160}/)?<?(?:input|in|source|src|my|your|doc|document|file|photo|image|video|audio|"
    r"data|report|invoice|book|scan|recording|meeting|sample|form|paper|contract|transcript)[\w-]*>?\.(?:pdf|"
    r"docx?|xlsx?|csv|tsv|pptx?|png|jpe?g|heic|webp|gif|mp3|mp4|wav|m4a|mov|mkv|epub|json|jsonl|log|parquet|"
    r"txt|dmp|pcap|bin|exe|apk|html|md|ogg|flac|svg)[\"']?$|"
    r"^[\"']?(?:[\w./~<>{}$-]{0,160}/)?(?!\S*(?:out|result|generated|report))[\w-]+\.(?:pdf|docx|xlsx|pptx|csv|tsv|"
    r"mp3|wav|m4a|mov|heic|epub|dmp|pcap|apk|raw|mem|parquet)[\"']?$|"
    r"^[\"']?<(?:path[-_ ]to[-_ ])?(?:input|file|pdf|image|video|audio|document|csv|excel|binary|transcript|log|markdown|deck|"
    r"export)[-_ ]?(?:file|path|pdf)?>[\"']?$|"
    r"^[\"']?(?:[\w./~<>{}$-]{0,160}/)?<[\w -]{1,40}\.(?:pdf|docx?|xlsx?|csv|pptx|txt|log|png|jpe?g|mp[34]|wav|json|md|html|apk|"
    r"exe|bin|dmp|pcap)>[\"']?$|"
    r"^[\"']?[\w.-]{1,60}\.(?:binlog|etl|nettrace|har|ipynb|ipa|epub)[\"']?$"
)
_UPLOAD = lazy(r"=@[\"']?([\w./<>-]{1,60}\.(?:pdf|docx?|xlsx?|csv|png|jpe?g|mp3|mp4|wav|m4a|mov|webm))", 2)
_CREATES = lazy(r"^(?:[^.]{0,60}\b)?(?:generat|creat|writ|build|design|draft|produc|make)\w*\b")
_SURE = lazy(
    r"\b(?:pdfs?|docx|xlsx|csvs?|pptx|epubs?|apks?|pcaps?|binlogs?|\w+ files?|transcripts?|recordings?|dumps?|firmware|"
    r"spreadsheets?|manuscripts?|bank statements?|malware samples?|executables?|binaries|receipts?|invoices?)\b"
)
_NAMED = lazy(
    r"(?<![\w/.-])[\w*-]*(\.(?:pdf|docx|xlsx|csv|tsv|pptx|epub|txt|log|dmp|pcap|apk|ipa|exe|binlog|etl|nettrace|parquet|mp[34]|wav|zip|har|ipynb))\b"
)
_BEGINS = lazy(r"[\W\d]{0,8}inputs?[\W_]{0,4}[:：]|[\W\d]{0,8}(?:read|load|open) (?:the )?plan file")
_FLAG = lazy(r"^(?:-o|--out\w*|--output\w*|-of|--dest\w*|>|>>)$")


def find(reading: SkillReading) -> Iterator[Sign]:
    """What it says it works on, sentences that have the user bring a file, and commands that read one."""
    match = _ABOUT.search(reading.about)
    if match:
        creates = 0.6 if _CREATES.match(reading.about) else 1.0
        sure = 1.0 if _SURE.search(match[0]) else 0.6
        yield reading.sign(sure * creates, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    elif (match := _NAMED.search(reading.about)) and not _CREATES.match(reading.about):
        yield reading.sign(0.6, EvidenceKind.FILE, "what it is for", reading.about_line, match[0])
    for placed in reading.commands:
        if placed.command.program == "curl" and (upload := _UPLOAD.search(placed.command.text)):
            yield reading.sign(0.7 * placed.weight, EvidenceKind.FILE, upload[1], placed.line, placed.command.text)
        words = placed.command.words
        if placed.command.program in ("git", "curl", "echo", "mkdir", "touch", "rm", "gh", "npm", "pip"):
            continue
        for nth, word in enumerate(words):
            if (
                _WORD.match(word)
                and not (nth and _FLAG.match(words[nth - 1]))
                and not (nth == len(words) - 1 and nth > 0 and _WORD.match(words[nth - 1]))
            ):
                yield reading.sign(
                    0.7 * placed.weight, EvidenceKind.FILE, "input of a command", placed.line, placed.command.text
                )
                break
    opened = lazy_open.finditer
    for snippet in reading.snippets:
        if snippet.role is not SectionUse.ASIDE and snippet.language in (
            "python",
            "py",
            "javascript",
            "js",
            "typescript",
            "ts",
            "r",
        ):
            for found in opened(snippet.text):
                line = snippet.line + 1 + snippet.text.count("\n", 0, found.start())
                yield reading.sign(0.5 * snippet.role.run, EvidenceKind.FILE, "file that code opens", line, found[0])
                break
    yield from _listed(reading)
    for sign in signs_of_phrase(reading, _SAID, 0.6, "", conditional=0.8):
        begins = _BEGINS.match(sign.evidence.text.lower()) is not None
        yield sign._replace(weight=sign.weight * (1.7 if begins else 1.0))


def _listed(reading: SkillReading) -> Iterator[Sign]:
    """Entries of a section that lists what the user provides."""
    for section in reading.skill.body.sections:
        if _INPUTS.search(section.heading.title.lower().strip(" #*:")):
            for each in reading.skill.body.prose:
                if section.line < each.line <= section.end_line and (match := _THING.search(each.text.lower())):
                    yield reading.sign(0.6, EvidenceKind.SENTENCE, match[1], each.line)
                    break
    for each in reading.skill.body.prose:
        if each.kind == "paragraph" and _PROVIDES.match(each.text.lower()):
            after = [other for other in reading.skill.body.prose if each.line < other.line <= each.line + 4]
            if after and (match := _THING.search(after[0].text.lower())):
                yield reading.sign(0.6, EvidenceKind.SENTENCE, match[1], after[0].line)


_INPUTS = lazy(
    r"^(?:required )?inputs?(?: files?| required| needed| artifacts?)?$|what you (?:provide|need)|^input /|^inputs? "
)
_PROVIDES = lazy(r"^\W*(?:what you provide|inputs?|required inputs?|you provide)\W*$")
_THING = lazy(rf"\b({_KIND})\b")


lazy_open = lazy(
    r"(?:\bopen|read_csv|read_excel|load_workbook|PdfReader|Document|Presentation|imread|Image\.open|"
    r"convert_from_path|read_parquet|createReadStream|readFileSync|from_file)\(\s*[\"'](?!.{0,40}(?:out|"
    r"result)).{1,60}\.(?:pdf|docx|xlsx|csv|pptx|png|jpe?g|mp3|mp4|wav|json|parquet|txt)[\"'](?!,\s*[\"'][wa])"
)
