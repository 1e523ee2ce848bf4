"""List sentences in docstrings and messages that seem to lack a verb or a subject, or print a random draw of texts.

python benchmarks/sentences.py [REVISION] [--list]
python benchmarks/sentences.py [REVISION] --draw SEED    50 messages, 50 docstrings and 20 comments
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator

#: Finite verbs and imperatives, by word or ending; nouns with the same endings let a few sentences pass.
VERB = re.compile(
    r"\b(?:is|are|was|were|be|ha[sd]|have|do|does|did|can|cannot|could|may|might|must|shall|should|will|would|let|set"
    r"|(?:need|give|take|make|come|go|get|find|hold|keep|show|mean|say|see|use|start|begin|end|write|read|run|return)s?"
    r"|\w*(?:[^aeious]s|[^s]es|ed|ies|fy|ise|ize|ate))\b",
    re.I,
)
#: Beginnings of sentences whose subject is missing or late, such as "Of several, the one that" or "Where none is".
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
    """Return what a sentence lacks, or an empty text."""
    words = re.findall(r"[A-Za-z']+", re.sub(r"``[^`]*``|`[^`]*`|\([^)]*\)", "X", sentence))
    if not VERB.search(" ".join(words[:40])):
        return "no verb"
    return "no subject" if ODD_START.match(sentence) else "riddle" if RIDDLES.search(sentence) else ""


def comments(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, text) of the comments of a module; comments on successive lines are joined."""
    last, started, block = -1, 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"# (?:noqa|type:|fmt:)", token.string):
            if token.start[0] != last + 1 and block:
                yield started, "comment", " ".join(block)
                block = []
            started = started if block else token.start[0]
            block.append(token.string.lstrip("#: "))
            last = token.start[0]
    if block:
        yield started, "comment", " ".join(block)


def modules(revision: str) -> Iterator[tuple[str, str]]:
    """Yield path and source of the modules of the package and the workflow."""
    for path in git("ls-tree", "-r", "--name-only", revision, "rgwot", "workflow").splitlines():
        if path.endswith(".py"):
            yield path, git("show", f"{revision}:{path}")


def draw(revision: str, seed: int) -> None:
    """Print texts drawn at random."""
    parts = [
        (path, *part) for path, source in modules(revision) for part in [*texts(ast.parse(source)), *comments(source)]
    ]
    generator = random.Random(seed)
    for kind, n in (("message", 50), ("docstring", 50), ("comment", 20)):
        # Shorter texts are only parts of messages.
        there = [part for part in parts if part[2] == kind and len(part[3].split()) > 3]
        for path, line, _, text in sorted(generator.sample(there, n)):
            print(f"--- {kind}, {path}:{line}\n{text}\n")


def count(revision: str, show: bool) -> None:
    """Print how many sentences lack something, and the sentences if asked for."""
    counts: Counter[str] = Counter()
    for path, source in modules(revision):
        for line, kind, text in texts(ast.parse(source)):
            for sentence in sentences(text):
                counts[f"sentences in a {kind}"] += 1
                if lack := odd(sentence):
                    counts[f"{kind}: {lack}"] += 1
                    if show:
                        print(f"{path}:{line}: {lack}: {sentence}")
    for name, number in sorted(counts.items()):
        print(f"{number:>7}  {name}")


def main() -> None:
    """Draw or count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    parser.add_argument("--list", action="store_true", help="print the sentences")
    parser.add_argument("--draw", type=int, metavar="SEED", help="print a random draw instead")
    options = parser.parse_args()
    if options.draw is None:
        count(options.revision, options.list)
    else:
        draw(options.revision, options.draw)


if __name__ == "__main__":
    main()
