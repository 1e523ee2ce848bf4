"""Sentences of docstrings and messages that lack a verb or a subject, by a heuristic.

python benchmarks/sentences.py [REVISION] [--list]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

#: Finite verbs and imperatives, by word or ending; nouns that end alike let a few sentences pass.
VERB = re.compile(
    r"\b(?:is|are|was|were|be|ha[sd]|have|do|does|did|can|cannot|could|may|might|must|shall|should|will|would|let|set"
    r"|(?:need|give|take|make|come|go|get|find|hold|keep|show|mean|say|see|use|start|begin|end|write|read|run|return)s?"
    r"|\w*(?:[^aeious]s|[^s]es|ed|ies|fy|ise|ize|ate))\b",
    re.I,
)
#: Beginnings of sentences whose subject is missing or comes late: "Of several, the one that ...", "Where none is".
ODD_START = re.compile(r"^(?:Of|What|That|Those|Whoever|Else|None|Such|Whose|From which|In which|With what)\b")
RIDDLES = re.compile(
    r"\b(?:(?:is|are) (?:told|said)|that (?:is|are) there|of (?:its|their) own|as it was|whose|of which|for want of"
    r"|from which on|what (?:is|are|was|has|they|it|a|an|the|its)|as (?:of|far as)"
    r"|where (?:it|they|there) (?:is|are|has|have) (?:none|not|no)|those (?:of|that)|of (?:equals|several))\b"
)
MESSAGES = {"RgwotError", "ValueError", "warning", "info", "warn", "echo", "option", "command", "VideoError"}


def texts(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of the docstrings and messages of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), "docstring", text
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in MESSAGES:
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if isinstance(value, ast.JoinedStr | ast.Constant) and isinstance(getattr(value, "value", ""), str):
                    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
                    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
                    yield value.lineno, "message", text


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without doctests, headings and tables."""
    prose = re.sub(r"^\s*(?:>>>|\.\.\.|[-=]{3,}).*(?:\n(?!\s*\n).*)*", "", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n|\n(?=\w+\n)|(?<=\w)\n {4,}(?=\S)", prose):
        for sentence in re.split(r"(?<=[.;])\s+(?=[A-Z`*])", " ".join(paragraph.split())):
            if len(sentence.split()) > 3:
                yield sentence


def git(*arguments: str) -> str:
    """Return the output of git."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def odd(sentence: str) -> str:
    """Return what a sentence lacks, or nothing."""
    words = re.findall(r"[A-Za-z']+", re.sub(r"``[^`]*``|`[^`]*`|\([^)]*\)", "X", sentence))
    if not VERB.search(" ".join(words[:40])):
        return "no verb"
    return "no subject" if ODD_START.match(sentence) else "riddle" if RIDDLES.search(sentence) else ""


if __name__ == "__main__":
    revision = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "HEAD")
    counts: dict[str, int] = {}
    for path in git("ls-tree", "-r", "--name-only", revision, "rgwot", "workflow").splitlines():
        if path.endswith(".py"):
            for line, kind, text in texts(ast.parse(git("show", f"{revision}:{path}"))):
                for sentence in sentences(text):
                    counts[f"sentences in a {kind}"] = counts.get(f"sentences in a {kind}", 0) + 1
                    if lack := odd(sentence):
                        counts[f"{kind}: {lack}"] = counts.get(f"{kind}: {lack}", 0) + 1
                        if "--list" in sys.argv:
                            print(f"{path}:{line}: {lack}: {sentence}")
    for name, count in sorted(counts.items()):
        print(f"{count:>7}  {name}")
