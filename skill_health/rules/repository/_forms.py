"""What names, versions and values of manifests look like (code.claude.com/docs, 2026-11, if nothing else is said)."""

from __future__ import annotations

from difflib import get_close_matches

from skill_health.text.patterns import lazy

KEBAB = lazy(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SEMVER = lazy(r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")

CLAUDE_EVENTS = tuple(
    "SessionStart Setup InstructionsLoaded UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied "
    "PostToolUse PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated "
    "TaskCompleted Stop StopFailure TeammateIdle ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate "
    "WorktreeRemove PreCompact PostCompact PreModelSwitch PostModelSwitch Elicitation ElicitationResult SessionEnd".split()
)
# Gemini CLI, Cursor and GitHub Copilot read files of the same name and shape (their documents on hooks, 2026-11).
OTHER_EVENTS = frozenset(
    "BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection BeforeTool AfterTool PreCompress "
    "sessionStart sessionEnd userPromptSubmitted preToolUse postToolUse errorOccurred stop subagentStart subagentStop "
    "beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit "
    "beforeSubmitPrompt preCompact afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit "
    "postToolUseFailure agentStop permissionRequest notification userPromptSubmit".split()
)
# The keys without which a hook of this type does nothing.
HOOK_TYPES = {"command": "command", "prompt": "prompt", "agent": "prompt", "http": "url", "mcp_tool": "tool"}
SERVER_TYPES = frozenset("stdio http sse sse-ide ws streamable-http streamableHttp".split())

TOOLS = frozenset(
    "Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit EnterPlanMode EnterWorktree ExitPlanMode "
    "ExitWorktree Glob Grep KillBash KillShell LS LSP ListMcpResourcesTool ListMcpResources MultiEdit NotebookEdit "
    "NotebookRead Monitor PowerShell Read ReadMcpResourceTool ReadMcpResource SendMessage Skill SlashCommand "
    "StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete TodoRead "
    "TodoWrite ToolSearch WebFetch WebSearch Write".split()
)
MODELS = frozenset("sonnet opus haiku inherit fable opusplan best default".split())
MODES = frozenset("default acceptEdits auto dontAsk bypassPermissions plan delegate manual".split())


def near(word: str, known: tuple[str, ...] | frozenset[str]) -> str:
    """The known word that another is a misspelling of, or ""."""
    lower = {each.lower(): each for each in sorted(known)}
    plain = word.lower().replace("_", "").replace("-", "")
    found = get_close_matches(plain, list(lower), 1, 0.85)
    return lower[found[0]] if found else ""
