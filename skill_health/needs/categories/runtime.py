"""The runtime of a language or system, and its packages."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.packages import PACKAGES
from skill_health.needs.reading.programs import facts_of, installs_skill
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.themes import theme_signs
from skill_health.text.patterns import lazy

ORDER = 6
TITLE = "Runtime / language environment"
MEANING = "A language or system runtime or its packages: Python, Node, Java, .NET, Rust, a GPU stack; scripts in such a language that it runs."

_SAID = phrase(
    "python|node|java|.net|rust|ruby|go 1|golang|gpu|cuda|pytorch|php|swift|dotnet|bun|deno|jdk",
    r"\b(?:requires?|needs?|install|must have|prerequisites?:?|runs? on|ensure|dependencies:?|compatible with|using|requirements?:?)\b[^.\n]{0,40}"
    r"\b(python ?3?[\d.]*|node(?:\.?js)?(?: ?v?\d[\d.+]*)?|java(?: jdk)? ?\d*|jdk|\.net(?: sdk| ?\d)|rust|"
    r"ruby|golang|go 1\.\d+|php|cuda|nvidia gpu|gpu|pytorch|bun|deno)\b|"
    r"^\W*(python|node\.?js|java|\.net(?: sdk)?|ruby|go|rust|php|bun|pytorch|cuda) ?(?:>=?|v|≥)?\s?\d[\d.x+-]*",
)
_GPU = (
    ("GPU", r"gpus?|vram"),
    ("CUDA", r"cuda|nccl|tensorrt|nvidia-smi|nvcc"),
    ("a training framework", r"pytorch|torchrun|deepspeed|megatron|fsdp|vllm"),
)
_PACKAGE_WORDS = frozenset(("install", "add", "i", "sync", "ci"))
_IMPORT = lazy(r"(?m)^(?:from\s+([A-Za-z_]\w*)[\w.]*\s+import|import\s+([A-Za-z_]\w*))")
_JS_IMPORT = lazy(
    r"(?m)^[ \t]*(?:import\b[^\n]{0,200}\bfrom\s+|(?:const|let|var)\b[^\n]{0,80}\brequire\()[\"']([@a-z][\w./@-]{0,60})[\"']"
)
_PY = frozenset(("python", "py", "python3"))
_JS = frozenset(("javascript", "js", "typescript", "ts", "jsx", "tsx"))
_LANGUAGE = {
    "csharp": ".NET",
    "cs": ".NET",
    "rust": "Rust",
    "go": "Go",
    "java": "Java",
    "kotlin": "Java",
    "ruby": "Ruby",
    "r": "R",
    "julia": "Julia",
    "php": "PHP",
    "swift": "Swift",
}
_RUNS_CODE = lazy(
    r"\b(?:analy[sz]|extract|convert|process|comput|simulat|generat|train|fine-tun|visuali[sz]|plot|creat|"
    r"fill|read|edit|transcrib|detect|pars|automat|manipulat|quer|fetch|call)\w*\b"
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """Interpreters in commands, scripts that it runs, packages that it installs or imports, and words that say so."""
    for name, line in (*reading.declared.programs, *reading.declared.packages):
        runtime = facts_of(name).runtime
        if runtime or (name, line) in reading.declared.packages:
            yield reading.sign(1.0, EvidenceKind.DECLARED, runtime or name, line)
    installs = False
    for placed in reading.commands:
        command = placed.command
        runtime = facts_of(command.program).runtime
        if not runtime or installs_skill(command.program, command.words):
            continue
        installs = installs or any(word in _PACKAGE_WORDS for word in command.words[:3])
        yield reading.sign(placed.weight, EvidenceKind.COMMAND, runtime, placed.line, command.text)
    for script in reading.scripts:
        if script.runtime:
            weight = script.weight * (1.0 if script.runs else 0.8)
            yield reading.sign(1.0 if weight >= 0.6 else weight, EvidenceKind.SCRIPT, script.runtime, script.line)
        for use in script.uses:
            if use.kind == "program" and (runtime := facts_of(use.name).runtime) and script.weight >= 0.7:
                yield reading.sign(
                    0.8, EvidenceKind.SCRIPT, runtime, use.line, f"{script.file} runs {use.name}", script.path
                )
    seen = 0
    for snippet in reading.snippets:
        if snippet.language in _PY:
            names = [match[1] or match[2] for match in _IMPORT.finditer(snippet.text)]
            language = "Python"
        elif snippet.language in _JS:
            names, language = _JS_IMPORT.findall(snippet.text), "Node"
        else:
            continue
        if names:
            seen += 1
            line = snippet.line
            client = any(name in PACKAGES for name in names)
            yield reading.sign(
                (0.7 if installs or client else 0.35) * max(snippet.role.run, 0.2),
                EvidenceKind.IMPORT,
                f"{language}: {names[0]}",
                line,
                f"imports {names[0]}",
            )
    yield from theme_signs(reading, _GPU, 0.4)
    yield from signs_of_phrase(reading, _SAID, 1.0, "")
