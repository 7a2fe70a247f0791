"""What the scripted model does in these tests, beside the scripts that every server knows."""

from headway.testing.model_server import EDIT, Call, Read, Script, Shell

LEFT_RUNNING = "sleep 4127"
"""A command that no other test leaves running."""

MENDED = "if grep -q broken number.txt; then echo 50 > number.txt; else echo broken > number.txt; fi"
"""The first turn breaks the toy, the turn that repairs it mends it."""

MESS = (
    "echo 60 > number.txt; mkdir -p .claude .codex .gemini; echo x > .claude/x; echo x > .codex/x; echo x > notes.md; "
    "git add -A; git -c user.name=a -c user.email=a@b commit -qm mine; git checkout -q -b elsewhere; "
    f"(setsid nohup {LEFT_RUNNING} > /dev/null 2>&1 &)"
)
"""Droppings, a commit and a branch of the agent's own, and a process that it leaves running."""

LEARNED = {
    "outcome": "done",
    "reason": "",
    "learnings": "The second digit hardly matters.",
    "required_dependencies": [],
}
NEEDING = {
    "outcome": "needs_dependency",
    "reason": "there is no array library",
    "learnings": "",
    "required_dependencies": ["numpy"],
}

WORDS = "Done.\nLEARNING: The second digit hardly matters."

SCRIPTS_OF_TESTS = {
    "learned": Script(EDIT, says=WORDS, answer=LEARNED),
    "needing": Script((), answer=NEEDING),
    "wordless": Script(EDIT, says="", is_plain=True),
    "limited-in-words": Script(says="API Error: Rate limit reached", is_plain=True),
    "leaves-running": Script((Shell(f"echo 2 > target.txt; (setsid nohup {LEFT_RUNNING} > /dev/null 2>&1 &)"),)),
    "long-tool": Script((Shell("python3 -c 'import time; time.sleep(4128)'"),)),
    "not-permitted": Script((Read("target.txt"), Call("Write", {"file_path": "target.txt", "content": "2\n"}))),
    "number": Script(
        (Shell("echo 40 > number.txt"),), answer=LEARNED, says="LEARNING: The second digit hardly matters."
    ),
    "mess": Script((Shell(MESS),)),
    "mended": Script((Shell(MENDED),), answer=LEARNED),
}
