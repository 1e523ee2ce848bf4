"""The shell of every page: the template, the style sheet, the joined script, and the policy that protects them.

Names of files, tasks and key steps are data, never markup: the template escapes all texts, and other data is JSON
without any ``<``. A Content Security Policy allows only the page's script and style sheet, by their digests, the
pictures inside the page, and videos that are local files or on the same server. A page may send requests to the server
that it came from, as in `rgwot open`, but not if it is a file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from rgwot.reporting.figures.style import BACKGROUND_COLOUR, STEP_COLOURS, UNMATCHED, ink_on

#: How another answer can be seen, in warnings of a page.
SEED_UNDER_SCORES, TIME_UNDER_SCORES = "the command for another try is under Scores", "its command is under Scores"
#: The modules that start the page of a task and the first page of the window, and how modules import each other.
START, HOME = "start.js", "home.js"
_IMPORT = re.compile(r'^import .* from "\./(.+)";\n', re.MULTILINE)
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def embedded(content: object) -> str:
    """Return JSON that is safe inside a script element, whatever its texts contain."""
    return escaped(json.dumps(content, allow_nan=False, separators=(",", ":")))


def escaped(json_text: str) -> str:
    """Return JSON without the characters that would be markup in a script element."""
    # JSON has these characters only inside texts, where an escape means the same.
    return json_text.translate(_ESCAPES)


def policy(style: str, script: str = "") -> str:
    """Return the Content Security Policy of a page with one style sheet and one script."""
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script) if script else "'none'",
        "img-src": "data: blob:",
        "media-src": "'self' file:",
        # The server of `rgwot open`; a page that is a file has none.
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def part(name: str) -> str:
    """Return a file of the page as text."""
    return (files(__package__) / "parts" / name).read_text(encoding="utf-8")


def script(start: str = START) -> str:
    """Return a module and all that it imports as one script, each module after those that it imports."""
    joined: dict[str, str] = {}

    def add(name: str) -> None:
        text = part(name)
        for imported in _IMPORT.findall(text):
            if imported not in joined:
                add(imported)
        joined[name] = _IMPORT.sub("", text).replace("\nexport ", "\n")

    add(start)
    return '"use strict";\n' + "".join(joined.values())


def style_sheet() -> str:
    """Return the style sheet with a class per colour and pattern of key steps."""
    colours = {"s0": BACKGROUND_COLOUR, "none": UNMATCHED} | {
        f"s{at}": colour for at, colour in enumerate(STEP_COLOURS, 1)
    }
    rules = [f".step.{name}{{background-color:{colour};color:{ink_on(colour)}}}\n" for name, colour in colours.items()]
    return part("page.css") + "".join(rules)


def filled(template: str, script: str = "", **content: object) -> str:
    """Render a template, which escapes all text, with a policy for its style and script."""
    loader = PackageLoader("rgwot.reporting.page", "parts")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, page = style_sheet(), environment.get_template(template)
    return page.render(style=style, script=script, policy=policy(style, script), **content)


def home_page() -> str:
    """Return the first page of the window (`rgwot open`)."""
    return filled("home.html.j2", script=script(HOME))


def in_window(text: str) -> str:
    """Return a text of a page with instructions for the window in place of those for a page without a server."""
    return text.replace(SEED_UNDER_SCORES, "to see both, choose Compare with another try under Result")
